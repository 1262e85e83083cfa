"""The command that makes passport versions again and compares them with what is stored."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, json_option, tenant_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, printable, show_json, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.passport import VERSION_ID, passport

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.replays import Replayed
    from bpc_worker.pipeline.session import PipelineSession


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

    async def work(pipeline: "PipelineSession") -> tuple[int, int]:
        if wanted is not None:
            found = await replay_version(pipeline, wanted)
            _show_replay(found, as_json=as_json)
            return 1, int(found.part is not None)
        count = wrong = 0
        async for found in replay_all(pipeline):
            _show_replay(found, as_json=as_json)
            count, wrong = count + 1, wrong + (found.part is not None)
        return count, wrong

    count, wrong = in_pipeline(config_path, tenant, work)
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
