"""The commands about what was sent to webhooks: test, deliveries, show, replay."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import (
    LENGTH,
    config_option,
    json_option,
    limit_option,
    tenant_option,
    uuid_from,
    wait_options,
)
from bpc_worker.cli._common.output import (
    EXIT_USAGE,
    fail,
    show_fields,
    show_json,
    show_list,
    tell,
    tell_size,
)
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience
from bpc_worker.cli.webhook import ENDPOINT, webhook
from bpc_worker.domain.states import DeliveryStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from uuid import UUID

    from bpc_worker.pipeline.deliveries import Delivery
    from bpc_worker.pipeline.session import PipelineSession


@webhook.command("test", epilog=ENDPOINT)
@click.argument("endpoint")
@wait_options("the receiver has answered")
@tenant_option
@config_option
def test(*, endpoint: str, wait: bool, timeout: float, tenant: str, config_path: str | None) -> None:
    r"""Send a message of the type WEBHOOK_TEST, tried once, and print the id of its delivery.

    \b
    Example: bpc-worker webhook test https://example.com/hooks/bpc --wait --tenant acme
    """
    from bpc_worker.pipeline.deliveries import send_test

    async def work(pipeline: "PipelineSession") -> "UUID":
        made = await send_test(pipeline, endpoint)
        click.echo(str(made))
        if wait:
            await _wait_for(pipeline, made, timeout)
        return made

    made = in_pipeline(config_path, tenant, work)
    if not wait:
        tell(f"a worker sends it; `bpc-worker webhook show {made}` tells how it went")


async def _wait_for(pipeline: "PipelineSession", delivery_id: "UUID", seconds: float) -> None:
    from bpc_worker.pipeline.deliveries import read_delivery
    from bpc_worker.pipeline.jobs import wait_for_job

    delivery, _ = await read_delivery(pipeline, delivery_id)
    if delivery.job_id is not None:
        state = await wait_for_job(pipeline, delivery.job_id, seconds=seconds, looked=patience())
        if not state.succeeded:
            not_done(state)
    delivery, _ = await read_delivery(pipeline, delivery_id)
    tell(f"it is {delivery.status}: the receiver answered {delivery.http_status}")


@webhook.command("deliveries", epilog=ENDPOINT)
@click.option("--endpoint", help="Only to this endpoint.")
@click.option(
    "--status", type=click.Choice([*DeliveryStatus], case_sensitive=False), help="Only with this status."
)
@click.option("--newer", type=LENGTH, help="Only those made less than this ago, like 2h.")
@limit_option
@tenant_option
@json_option("One JSON object per delivery.")
@config_option
def deliveries(
    *,
    endpoint: str | None,
    status: str | None,
    newer: float | None,
    limit: int,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""List what was sent and how it went, newest first.

    \b
    Example: bpc-worker webhook deliveries --status FAILED --newer 2h --tenant acme
    """
    from bpc_worker.pipeline.deliveries import list_deliveries

    found = in_pipeline(
        config_path, tenant, list_deliveries,
        endpoint=endpoint, status=status, newer_seconds=newer, limit=limit,
    )  # fmt: skip
    nothing = "no deliveries; `bpc-worker webhook list` shows who is told of what"
    show_list(found, _line, as_json=as_json, limit=limit, nothing=nothing)


def _line(each: "Delivery") -> list[object]:
    tried = None if each.attempts is None else f"{each.attempts}/{each.max_attempts}"
    when = each.delivered_at or each.next_attempt_at or each.created_at
    return [
        each.webhook_delivery_id, each.status, each.event_type, each.http_status, tried, when,
        None if each.error_message is None else each.error_message[:80],
    ]  # fmt: skip


@webhook.command("show")
@click.argument("delivery")
@tenant_option
@json_option("The delivery as one JSON object.")
@config_option
def show(*, delivery: str, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Show one delivery: what was sent, and what the receiver answered to the last attempt.

    \b
    Example: bpc-worker webhook show 019a8f3e-6f2b-7c44-9d51-0f8f7f6d2a10 --tenant acme
    """
    from bpc_worker.pipeline.deliveries import read_delivery

    delivery_id = _delivery_id(delivery)
    found, answer = in_pipeline(config_path, tenant, read_delivery, delivery_id)
    texts = {
        "body": answer.body.decode("utf-8", "replace"),
        "response_headers": answer.response_headers,
        "response_body": None
        if answer.response_body is None
        else answer.response_body.decode("utf-8", "replace"),
    }
    fields = {name: getattr(found, name) for name in found.__struct_fields__} | texts
    show_json(fields) if as_json else show_fields(fields.items())


def _delivery_id(text: str) -> "UUID":
    return uuid_from(text, "delivery", "`bpc-worker webhook deliveries` prints them")


@webhook.command("replay", epilog=ENDPOINT)
@click.argument("wanted", nargs=-1, metavar="[DELIVERY]...")
@click.option("--failed", is_flag=True, help="All that are FAILED; also say --newer or --endpoint.")
@click.option("--endpoint", help="With --failed: only to this endpoint.")
@click.option("--newer", type=LENGTH, help="With --failed: only those made less than this ago, like 2d.")
@limit_option
@tenant_option
@config_option
def replay(
    *,
    wanted: tuple[str, ...],
    failed: bool,
    endpoint: str | None,
    newer: float | None,
    limit: int,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Send the same bytes again, each as a delivery of its own, and print the ids of those.

    \b
    Example: bpc-worker webhook replay --failed --newer 2d --tenant acme
    """
    from bpc_worker.pipeline.deliveries import list_deliveries
    from bpc_worker.pipeline.deliveries import replay as replayed

    if failed == bool(wanted) or (failed and endpoint is None and newer is None):
        fail(EXIT_USAGE, "which ones? name deliveries, or say --failed with --newer or --endpoint")
    chosen = [_delivery_id(text) for text in dict.fromkeys(wanted)]

    async def work(pipeline: "PipelineSession") -> int:
        if failed:
            found = await list_deliveries(
                pipeline, endpoint=endpoint, status="FAILED", newer_seconds=newer, limit=limit
            )
            chosen.extend(each.webhook_delivery_id for each in reversed(found))
        for each in chosen:
            click.echo(str(await replayed(pipeline, each)))
        return len(chosen)

    count = in_pipeline(config_path, tenant, work)
    if failed:
        tell_size(count, limit, "none is FAILED; `bpc-worker webhook deliveries` shows them all")
    tell(f"queued: {count}")
