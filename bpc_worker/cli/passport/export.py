"""The command that hands a passport version out as a bundle."""

from pathlib import Path

import click

from bpc_worker.cli._common.options import FILE, config_option, tenant_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, refused, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.passport import VERSION_ID, passport
from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.domain.states import PassportStatus


@passport.command("export", epilog=VERSION_ID)
@click.argument("wanted", metavar="ID")
@click.option(
    "--out", required=True, type=FILE, metavar="DIR_OR_FILE",
    help="An existing folder, or a file that ends in .zip, of a view in .sd-jwt.",
)  # fmt: skip
@click.option("--audience", type=click.Choice([*AUDIENCES]), help="Only what this audience may see.")
@tenant_option
@config_option
def export(wanted: str, *, out: Path, audience: str | None, tenant: str, config_path: str | None) -> None:
    r"""Write a version as a bundle, or as the view of one audience, and print the name of the file.

    The same version is the same bytes every time. Without --audience the bundle has everything, the
    suppliers' facts too; a view has what its audience may see. What is there already is never overwritten.

    \b
    Example: bpc-worker passport export HLS-EV78-2028-000417 --out out --audience public --tenant acme
    """
    from bpc_worker.files.writing import ExportFileError, write_new
    from bpc_worker.pipeline.export import export as exported

    ending = ".zip" if audience is None else ".sd-jwt"
    if not out.is_dir() and out.suffix != ending:
        hint = f"make it, or name a file that ends in {ending}"
        fail(EXIT_USAGE, f"--out {out}: there is no such folder", hint)
    found = in_pipeline(config_path, tenant, exported, wanted, audience)
    folder, name = (out, found.name) if out.is_dir() else (out.parent, out.name)
    with refused(ExportFileError, "name a folder that can be written", what="--out ", code=EXIT_FAILED):
        added = write_new(folder, name, found.data)
    click.echo(folder / name)
    if not added:
        tell("it was there already, with the same bytes")
    if audience is None:
        tell("it has all fields and the suppliers' facts; --audience makes one that can be handed on")
    if found.status != PassportStatus.ACTIVE:
        tell(f"the version is {found.status}, which the bundle does not say")
