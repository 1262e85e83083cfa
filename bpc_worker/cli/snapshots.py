"""The commands about snapshots: create, seal, list, show."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import (
    config_option,
    json_option,
    limit_option,
    tenant_option,
    uuid_from,
    wait_options,
)
from bpc_worker.cli._common.output import (
    counted,
    fields_of,
    json_text,
    show_fields,
    show_json,
    show_list,
    tell,
)
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience
from bpc_worker.domain.states import SnapshotStatus

_DOCUMENT = (
    "The ID of a document is that of a version, its sha256, or the document's name: its newest version."
)
_HINT = "`bpc-worker snapshot list` shows them"


@main.group()
def snapshot() -> None:
    """Snapshots: the facts of chosen documents, sealed under one hash."""


@snapshot.command("create", epilog=_DOCUMENT)
@click.option(
    "--document", "documents", multiple=True, required=True, metavar="ID", help="May be given often."
)
@tenant_option
@json_option("One JSON object.")
@config_option
def snapshot_create(
    *, documents: tuple[str, ...], tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""Make a snapshot of the facts of these documents and print its id.

    \b
    Example: bpc-worker snapshot create --document bom.csv --document pcf.json --tenant acme
    """
    from bpc_worker.pipeline.snapshots import create_snapshot

    made = in_pipeline(config_path, tenant, create_snapshot, documents)
    click.echo(json_text(made) if as_json else made.snapshot_id)
    seal_it = f"bpc-worker snapshot seal {made.snapshot_id} --passport PASSPORT --wait"
    tell(f"{counted(made.facts, 'fact')}; seal it with `{seal_it}`")


@snapshot.command("seal")
@click.argument("id_", metavar="ID")
@click.option(
    "--passport",
    metavar="PASSPORT",
    help="Id or serial number: its operator, facility, product and identity go into the snapshot.",
)
@wait_options("it is sealed")
@tenant_option
@json_option("One JSON object.")
@config_option
def snapshot_seal(
    id_: str,
    *,
    passport: str | None,
    wait: bool,
    timeout: float,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Have a snapshot sealed, and print the id of the job that does it; with --wait, the hash.

    Sealed again, it is what it was.

    \b
    Example: bpc-worker snapshot seal 0198… --passport SN-000417 --tenant acme --wait
    """
    from bpc_worker.pipeline.jobs import wait_for_job
    from bpc_worker.pipeline.session import PipelineSession
    from bpc_worker.pipeline.snapshots import SnapshotDetail, seal_snapshot, snapshot_detail
    from bpc_worker.postgres.queue.job_states import JobState

    snapshot_id = uuid_from(id_, "snapshot", _HINT)

    async def seal(pipeline: PipelineSession) -> tuple[str | None, JobState | None, SnapshotDetail]:
        job_id = await seal_snapshot(pipeline, snapshot_id, passport)
        job = None
        if job_id is not None and wait:
            job = await wait_for_job(pipeline, job_id, seconds=timeout, looked=patience())
        return None if job_id is None else str(job_id), job, await snapshot_detail(pipeline, snapshot_id)

    job_id, job, found = in_pipeline(config_path, tenant, seal)
    if as_json:
        show_json({"job_id": job_id, "snapshot": found})
    elif found.snapshot_hash is not None:
        click.echo(found.snapshot_hash.hex())
    elif job is None:
        click.echo(job_id)
    if job_id is None:
        tell("it was sealed already")
    elif job is None:
        tell(f"job {job_id} seals it; `bpc-worker snapshot show {snapshot_id}` tells when it has")
    elif not job.succeeded:
        not_done(job)


@snapshot.command("list")
@click.option("--status", type=click.Choice([*SnapshotStatus], case_sensitive=False))
@limit_option
@tenant_option
@json_option("One JSON object per snapshot.")
@config_option
def snapshot_list(
    *, status: str | None, limit: int, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""List the snapshots, newest first: id, status, facts, hash.

    \b
    Example: bpc-worker snapshot list --tenant acme
    """
    from bpc_worker.pipeline.snapshots import list_snapshots

    wanted = None if status is None else status.upper()
    show_list(
        in_pipeline(config_path, tenant, list_snapshots, status=wanted, limit=limit),
        lambda each: [each.snapshot_id, each.status, each.facts, each.snapshot_hash],
        as_json=as_json,
        limit=limit,
        nothing="no such snapshots; make one with `bpc-worker snapshot create`",
    )


@snapshot.command("show")
@click.argument("id_", metavar="ID")
@tenant_option
@json_option("One JSON object.")
@config_option
def snapshot_show(id_: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Show a snapshot: its status and hash, its documents, and the passport versions made from it.

    \b
    Example: bpc-worker snapshot show 0198… --tenant acme
    """
    from bpc_worker.pipeline.snapshots import snapshot_detail

    snapshot_id = uuid_from(id_, "snapshot", _HINT)
    found = in_pipeline(config_path, tenant, snapshot_detail, snapshot_id)
    if as_json:
        show_json(found)
        return
    fields = fields_of(found, "snapshot_id", "status", "snapshot_hash", "created_at", "facts")
    fields += [
        (
            "document",
            f"{each.document_version_id} {each.kind} {each.external_ref} {counted(each.facts, 'fact')}",
        )
        for each in found.documents
    ]
    fields += [
        ("passport version", f"{each.passport_version_id} {each.status}") for each in found.passport_versions
    ]
    show_fields(fields)
