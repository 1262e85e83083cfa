"""The command about the public door's own tables: refill."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, tenant_option
from bpc_worker.cli._common.output import EXIT_FAILED, counted, fail, tell
from bpc_worker.cli._common.sessions import in_pipeline

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from uuid import UUID

    from bpc_worker.pipeline.session import PipelineSession


@main.group()
def public() -> None:
    """What the public door shows: it has tables of its own, and reads no others."""


@public.command("refill")
@click.option("--all", "everything", is_flag=True, help="Those that are there already, too.")
@tenant_option
@config_option
def public_refill(*, everything: bool, tenant: str, config_path: str | None) -> None:
    r"""Give the public door the public views of versions that were signed before it had tables.

    Every version that is signed since then is there by itself.

    \b
    Example: bpc-worker public refill --tenant acme
    """
    from bpc_worker.pipeline.publishing import refill

    troubled = 0

    def refused(version_id: "UUID", why: str) -> None:
        nonlocal troubled
        troubled += 1
        tell(f"{version_id} is left out: {why}")

    async def work(pipeline: "PipelineSession") -> int:
        return await refill(pipeline, everything=everything, refused=refused)

    click.echo(counted(in_pipeline(config_path, tenant, work), "version"))
    if troubled:
        hint = "`bpc-worker passport replay ID` says what was changed"
        fail(EXIT_FAILED, f"{counted(troubled, 'version')} could not be published", hint)
