"""passport renew: another version of what is known of a battery now."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, tenant_option, wait_options
from bpc_worker.cli._common.output import tell
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience
from bpc_worker.cli.passport import passport

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from datetime import datetime

    from bpc_worker.jobs.model import JobId
    from bpc_worker.pipeline.session import PipelineSession
    from bpc_worker.postgres.queue.job_states import JobState


@passport.command("renew")
@click.argument("wanted", metavar="PASSPORT")
@click.option("--rules", help="NAME or NAME@VERSION; else those of its last version, the newest of them.")
@click.option("--law-date", type=click.DateTime(["%Y-%m-%d"]), help="Else that of its last version.")
@click.option(
    "--document",
    "documents",
    multiple=True,
    metavar="ID",
    help="The battery's from now on; may be given often.",
)
@wait_options("its snapshot is sealed")
@tenant_option
@config_option
def passport_renew(  # noqa: PLR0913 - one argument per option
    wanted: str,
    *,
    rules: str | None,
    law_date: "datetime | None",
    documents: tuple[str, ...],
    wait: bool,
    timeout: float,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Queue another version of a passport, of all that is known of the battery now; print the job's id.

    If nothing has changed since its last snapshot, the same rules and law date make no other version.

    \b
    Example: bpc-worker passport renew SN-000417 --tenant acme --wait
    """
    from bpc_worker.pipeline.jobs import wait_for_job
    from bpc_worker.pipeline.renewal import renew

    day = None if law_date is None else law_date.date()

    async def work(pipeline: "PipelineSession") -> "tuple[JobId, JobState | None]":
        job_id = await renew(pipeline, wanted, rules=rules, law_date=day, documents=documents)
        if not wait:
            return job_id, None
        return job_id, await wait_for_job(pipeline, job_id, seconds=timeout, looked=patience())

    job_id, job = in_pipeline(config_path, tenant, work)
    click.echo(job_id)
    if job is not None and not job.succeeded:
        not_done(job)
    tell(f"`bpc-worker passport list --passport {wanted}` tells when the version is SIGNED")
