"""The command that lists what happened to a passport, a document, a job: the events of the audit trail."""

import click

from bpc_worker.cli._common.options import (
    config_option,
    json_option,
    limit_option,
    tenant_option,
    uuid_from,
)
from bpc_worker.cli._common.output import show_list
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.audit import audit


@audit.command("events")
@click.argument("aggregate_id", required=False)
@tenant_option
@limit_option
@json_option("One JSON object per line, with the payload and all hashes.")
@config_option
def events(
    *, aggregate_id: str | None, tenant: str, limit: int, as_json: bool, config_path: str | None
) -> None:
    r"""List the events of a passport, document, snapshot, rules, key or job; without an id, the newest.

    One line each: event id, time, type, what it is about, version, who did it.

    \b
    Example: bpc-worker audit events 5aa51574-544e-590a-b499-3201a6471cba --tenant acme
    """
    from bpc_worker.pipeline.audit.events import list_events

    hint = "that of a passport, document, snapshot, rules, key or job is; leave it out for the newest of all"
    wanted = None if aggregate_id is None else uuid_from(aggregate_id, "chain of events", hint)
    show_list(
        in_pipeline(config_path, tenant, list_events, wanted, limit),
        lambda each: (
            each.event_id, each.occurred_at, each.event_type, each.aggregate_type, each.aggregate_id,
            each.aggregate_version, each.actor_id,
        ),
        as_json=as_json,
        limit=limit,
        nothing="there are no such events",
    )  # fmt: skip
