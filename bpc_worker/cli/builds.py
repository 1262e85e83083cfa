"""The commands that look at builds: list, show. `passport build` makes them."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option, limit_option, tenant_option, uuid_from
from bpc_worker.cli._common.output import fields_of, on_one_line, show_fields, show_json, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.domain.states import BuildStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.builds.listing import (
        BuildError,
        BuildJob,
        DocumentError,
        ListedBuild,
        ShownBuild,
        Stage,
    )

_HINT = "`bpc-worker build list` shows them"


@main.group()
def build() -> None:
    """Builds: what becomes of documents on their way to a passport."""


@build.command("list")
@click.option("--state", type=click.Choice([*BuildStatus]), help="Only those that are there.")
@limit_option
@tenant_option
@json_option("One JSON object per build.")
@config_option
def build_list(*, state: str | None, limit: int, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List builds, newest first: id, state, product, serial, rules, when it began, when it was done.

    \b
    Example: bpc-worker build list --state STOPPED --tenant acme
    """
    from bpc_worker.pipeline.builds.listing import list_builds

    show_list(
        in_pipeline(config_path, tenant, list_builds, state=state, limit=limit),
        _line,
        as_json=as_json,
        limit=limit,
        nothing="there are none; `bpc-worker passport build DIR` makes one",
    )


def _line(each: "ListedBuild") -> list[object]:
    return [
        each.build_id, each.state, each.product, each.serial, each.rules, each.created_at, each.finished_at,
    ]  # fmt: skip


@build.command("show")
@click.argument("id_", metavar="ID")
@tenant_option
@json_option("One JSON object.")
@config_option
def build_show(id_: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Show a build: its stages, the jobs of each, its documents and what is wrong with them.

    \b
    Example: bpc-worker build show 0198… --tenant acme
    """
    from bpc_worker.pipeline.builds.listing import show_build

    found = in_pipeline(config_path, tenant, show_build, uuid_from(id_, "build", _HINT))
    if as_json:
        show_json(found)
        return
    names = ("build_id", "state", "product", "serial", "unique_identifier", "passport_id", "rules")
    times = ("law_date", "snapshot_id", "passport_version_id", "created_at", "finished_at")
    show_fields(fields_of(found, *names, *times))
    for stage in found.stages:
        _show_stage(stage)
    _show_documents(found)
    if found.state is BuildStatus.STOPPED:
        tell("mend what is listed, then run `bpc-worker passport build` on its folder again: it goes on")


def _show_stage(stage: "Stage") -> None:
    click.echo(f"{stage.stage}  {stage.state}")
    for job in stage.jobs:
        click.echo(f"  {on_one_line(_job(job))}")


def _job(job: "BuildJob") -> str:
    about = "" if job.file is None else f"  {job.file}"
    failed = "" if job.fail_code is None else f"  {job.fail_code}: {job.fail_reason}"
    return f"{job.job_id}  {job.type}  {job.status}  {job.attempts}/{job.max_attempts}{about}{failed}"


def _show_documents(found: "ShownBuild") -> None:
    for document in found.documents:
        click.echo(on_one_line(f"{document.file}  {document.kind}  {document.status}"))
        for error in document.errors:
            click.echo(f"  {on_one_line(_said(error))}")
    for each in found.errors:
        if each.document is None:
            click.echo(on_one_line(_said(each)))


def _said(error: "BuildError | DocumentError") -> str:
    return f"{error.where}: {error.message}" if error.where else error.message
