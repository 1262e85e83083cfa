"""The command that removes what ended long ago."""

import click

from bpc_worker.cli._common.operator import as_operator
from bpc_worker.cli._common.parts import Command
from bpc_worker.cli._common.session import config_option, counted, tell


@click.command("prune", cls=Command)
@config_option
def prune(config_path: str | None) -> None:
    r"""Remove finished jobs older than `jobs.retention_days`, with their events; dead letters stay.

    Workers do the same by themselves, a few at a time.

    \b
    Example: BPC_JOBS_RETENTION_DAYS=90 bpc-worker jobs prune
    """
    from bpc_worker.operator import prune as removal

    done = as_operator(config_path, removal.prune, acts=True)
    tell(f"{counted(done.removed_jobs, 'job')} and {counted(done.removed_events, 'event')} removed")
