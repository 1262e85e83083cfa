"""The command that removes what ended long ago."""

import click

from bpc_worker.cli_operator import as_operator
from bpc_worker.cli_parts import Command
from bpc_worker.cli_session import config_option, tell


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
    tell(f"{done.removed_jobs} jobs and {done.removed_events} events removed; {done.looked_at} looked at")
