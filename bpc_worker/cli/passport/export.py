"""The commands that replay passport versions and hand them out."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.parts import EXIT_FAILED, EXIT_USAGE, fail, printable
from bpc_worker.cli._common.session import (
    as_owner,
    config_option,
    json_option,
    show_json,
    tell,
    tenant_option,
)
from bpc_worker.cli.passport.versions import VERSION_ID, passport

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.replays import Replayed
    from bpc_worker.pipeline.session import Owner

__all__ = ["passport"]

_AUDIENCES = ["public", "legitimate_interest", "authorities", "commission"]


@passport.command("replay", epilog=VERSION_ID)
@click.argument("wanted", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every signed version of the tenant.")
@tenant_option
@json_option("One JSON object per version.")
@config_option
def replay(
    wanted: str | None, *, everything: bool, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""Make a passport again from its facts and rules, and compare every byte with what is stored.

    This also finds what was changed in the database behind its guards.

    Exit codes: 0 all the same, 1 REPLAY_MISMATCH, 3 there is no such version.

    \b
    Example: bpc-worker passport replay --all --tenant acme
    """
    if everything == (wanted is not None):
        fail(EXIT_USAGE, "name a version, or say --all")
    from bpc_worker.pipeline.replays import replay_all, replay_version

    async def work(owner: "Owner") -> tuple[int, int]:
        if wanted is not None:
            found = await replay_version(owner, wanted)
            _show_replay(found, as_json=as_json)
            return 1, int(found.part is not None)
        count = wrong = 0
        async for found in replay_all(owner):
            _show_replay(found, as_json=as_json)
            count, wrong = count + 1, wrong + (found.part is not None)
        return count, wrong

    count, wrong = as_owner(config_path, tenant, work)
    tell(f"{count} replayed, {wrong} differ" if count else "there is nothing to replay")
    if wrong:
        tell("what is stored is not what was made: compare it with a backup or with an exported bundle")
        raise SystemExit(EXIT_FAILED)


def _show_replay(found: "Replayed", *, as_json: bool) -> None:
    code = "OK" if found.part is None else "REPLAY_MISMATCH"
    if as_json:
        about = {"passport_version_id": found.passport_version_id, "result": code}
        show_json(about if found.part is None else about | {"part": found.part, "message": found.message})
    else:
        detail = "" if found.part is None else f"  {found.part}: {printable(found.message)}"
        click.echo(f"{found.passport_version_id}  {code}{detail}")


@passport.command("export", epilog=VERSION_ID)
@click.argument("wanted", metavar="ID")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="DIR_OR_FILE",
    help="An existing folder, or a file that ends in .zip.",
)  # fmt: skip
@click.option("--audience", type=click.Choice(_AUDIENCES), help="Only what this audience may see.")
@tenant_option
@config_option
def export(wanted: str, *, out: Path, audience: str | None, tenant: str, config_path: str | None) -> None:
    r"""Write a version as a bundle that anybody can check, and print the name of the file.

    The same version is the same bytes every time. Without --audience the bundle has everything, the
    suppliers' facts too; with it, a view without the rest. What is there already is never overwritten.

    \b
    Example: bpc-worker passport export HLS-EV78-2028-000417 --out out --audience public --tenant acme
    """
    from bpc_worker.files.exporting import ExportFileError, write_new
    from bpc_worker.pipeline.export import export as exported

    if not out.is_dir() and out.suffix != ".zip":
        fail(EXIT_USAGE, f"--out {out}: there is no such folder", "make it, or name a file that ends in .zip")
    found = as_owner(config_path, tenant, lambda owner: exported(owner, wanted, audience))
    folder, name = (out, found.name) if out.is_dir() else (out.parent, out.name)
    try:
        added = write_new(folder, name, found.data)
    except ExportFileError as error:
        fail(EXIT_FAILED, f"--out {error}", "name a folder that can be written")
    click.echo(folder / name)
    if not added:
        tell("it was there already, with the same bytes")
    if audience is None:
        tell("it has all fields and the suppliers' facts; --audience makes one that can be handed on")
    if found.status != "ACTIVE":
        tell(f"the version is {found.status}, which the bundle does not say")
