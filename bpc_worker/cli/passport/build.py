"""The command that makes a passport from a folder of documents."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, json_option, tenant_option, timeout_option
from bpc_worker.cli._common.output import EXIT_FAILED, show_json, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.passport import passport
from bpc_worker.domain.states import BuildStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Callable

    from bpc_worker.pipeline.builds.start import BuildState
    from bpc_worker.pipeline.builds.watch import Watched
    from bpc_worker.pipeline.session import PipelineSession

_FOLDER = (
    "DIR holds passport.yaml, which says which battery, which rules and which file is what, and the files."
)
_PATIENCE_LOOKS = 25  # five seconds in which nothing has happened


@passport.command("build", epilog=_FOLDER)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--no-wait", is_flag=True, help="Print the id of the build and leave it to the workers.")
@click.option("--again", is_flag=True, help="Make another version, even if nothing has changed.")
@timeout_option
@tenant_option
@json_option("One JSON object.")
@config_option
def build(
    folder: Path,
    *,
    no_wait: bool,
    again: bool,
    timeout: float,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Make a signed passport from a folder of documents, and print the id of its version.

    Workers do the work. The same folder again is the same passport; after a mistake was mended, it goes on
    from there.

    Exit codes: 0 done, 1 stopped or not done in time, 2 the folder cannot be used.

    \b
    Example: bpc-worker passport build batteries/000417 --tenant acme
    """
    seconds = 0.0 if no_wait else timeout
    found = in_pipeline(config_path, tenant, _built, folder, again=again, seconds=seconds)
    state = found.state
    if as_json:
        show_json(state)
    if no_wait and not found.ended:
        tell(f"build {state.build_id} is queued; the same command without --no-wait watches it")
        _echo(state.build_id, as_json=as_json)
    elif state.state == BuildStatus.DONE:
        tell(f"done: `bpc-worker passport show {state.passport_version_id}` shows it")
        _tell_lacking(state, config_path, tenant)
        _echo(state.passport_version_id, as_json=as_json)
    else:
        tell(*why_not_done(found, timeout))
        raise SystemExit(EXIT_FAILED)


def _tell_lacking(state: "BuildState", config_path: str | None, tenant: str) -> None:
    from bpc_worker.cli.passport.told import of_report
    from bpc_worker.pipeline.gaps import read_version_report

    if state.passport_version_id is not None:  # retention may have been there in between
        tell(*of_report(in_pipeline(config_path, tenant, read_version_report, state.passport_version_id)))


def _echo(found: object, *, as_json: bool) -> None:
    if not as_json:
        click.echo(found)


async def _built(pipeline: "PipelineSession", folder: Path, *, again: bool, seconds: float) -> "Watched":
    from bpc_worker.core.base.identifier import STAND_IN_HOST, host_of
    from bpc_worker.pipeline.builds.folder import read_folder
    from bpc_worker.pipeline.builds.start import start_build
    from bpc_worker.pipeline.builds.watch import watch
    from bpc_worker.pipeline.identifiers import STAND_IN

    read = read_folder(folder, document_bytes=pipeline.settings.limits.document_bytes)
    started = await start_build(pipeline, read, again=again)
    if host_of(started.unique_identifier) == STAND_IN_HOST:
        tell(f"warning: {STAND_IN}")
    return await watch(pipeline, started.build_id, seconds=seconds, looked=_progress(quiet=not seconds))


def _progress(*, quiet: bool) -> "Callable[[BuildState], None]":
    """One line whenever the build has moved; a word once when nothing moves it."""
    last: BuildState | None = None
    looks = 0

    def looked(state: "BuildState") -> None:
        nonlocal last, looks
        looks = 0 if state != last else looks + 1
        if state != last and not quiet:
            tell(_line(state))
        if looks == _PATIENCE_LOOKS:
            tell("nothing has happened for a while: does a worker run? `bpc-worker run` starts one")
        last = state

    return looked


def _line(state: "BuildState") -> str:
    documents = ", ".join(f"{each['file']} {each['status']}" for each in state.documents)
    detail = f": {documents}" if state.state == BuildStatus.DOCUMENTS else ""
    return f"build {state.build_id} {state.state}{detail}"


def why_not_done(found: "Watched", timeout: float) -> list[str]:
    """In words, with what to do about it."""
    state = found.state
    if state.state == BuildStatus.STOPPED:
        first = "the build was stopped; mend this, then run the same command again:"
        return [first, *(f"  {_error(each)}" for each in state.errors or [])]
    if found.troubles:
        ids = " ".join(str(each.job_id) for each in found.troubles)
        return [
            *(
                f"the job {each.job_id} ({each.type}) of the build is {each.status}: "
                f"{each.fail_code}: {each.fail_reason}"
                for each in found.troubles
            ),
            f"mend the cause, then retry it: bpc-worker jobs retry {ids}",
            "the build goes on by itself",
        ]
    return [
        f"not done within {timeout:g} s: it stands at {state.state}, and workers go on with it",
        "the same command again watches it; --timeout waits longer",
    ]


def _error(error: dict[str, object]) -> str:
    """What is wrong, where: `bom.csv: line 2, mass_kg: …`."""
    where = [str(error[name]) for name in ("document", "where") if error.get(name)]
    return ": ".join([*where, str(error.get("message", error))])
