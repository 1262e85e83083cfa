"""The commands about a tenant's rule packages: add, list, show, run their tests, publish."""

import sys
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, json_option, tenant_option, wait_options
from bpc_worker.cli._common.output import (
    fields_of,
    json_text,
    printable,
    show_fields,
    show_json,
    show_list,
    tell,
)
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience
from bpc_worker.cli.rules import RULE_FILE, rules, text_from
from bpc_worker.domain.states import RulesStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.domain.records import RulesVersion
    from bpc_worker.pipeline.rules import RulesDetail
    from bpc_worker.postgres.queue.job_states import JobState

_WANTED = "RULES is NAME for the newest version, NAME@VERSION, or the id of a version."


def _label(version: "RulesVersion") -> str:
    return f"{version.name}@{version.version}"


@rules.command("add", epilog=RULE_FILE)
@click.argument("name")
@click.argument("file")
@tenant_option
@json_option("One JSON object.")
@config_option
def rules_add(name: str, file: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Add a text as the next version of a package, a DRAFT, and print NAME@VERSION.

    The same text again is the version that is there.

    \b
    Example: bpc-worker rules add eu_battery eu_battery --tenant acme
    """
    from bpc_worker.pipeline.rules import add_rules

    found = in_pipeline(config_path, tenant, add_rules, name, text_from(file))
    click.echo(json_text(found) if as_json else _label(found))
    step = {
        RulesStatus.DRAFT: f"have it tested: `bpc-worker rules run-tests {_label(found)} --wait`",
        RulesStatus.VALIDATED: f"publish it: `bpc-worker rules publish {_label(found)}`",
    }
    tell(f"{_label(found)} is {found.status}" + (f"; {step[found.status]}" if found.status in step else ""))


@rules.command("list")
@tenant_option
@json_option("One JSON object per version.")
@config_option
def rules_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the versions of the tenant's rule packages: name, status, id, sha256.

    \b
    Example: bpc-worker rules list --tenant acme
    """
    from bpc_worker.pipeline.rules import list_rules

    show_list(
        in_pipeline(config_path, tenant, list_rules),
        lambda each: [_label(each), each.status, each.rule_package_version_id, each.dsl_sha256],
        as_json=as_json,
        nothing="no rules yet; add the shipped ones with `bpc-worker rules add eu_battery eu_battery`",
    )


@rules.command("run-tests", epilog=_WANTED)
@click.argument("wanted", metavar="RULES")
@click.option(
    "--seed", type=click.IntRange(0, 2**53 - 1), default=0, show_default=True, help="Of drawn cases."
)
@wait_options("they have run")
@tenant_option
@json_option("One JSON object.")
@config_option
def rules_run_tests(
    wanted: str, *, seed: int, wait: bool, timeout: float, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""Have a worker run a version's own tests, and print the id of the job; VALIDATED when they pass.

    \b
    Example: bpc-worker rules run-tests eu_battery --tenant acme --wait
    """
    from bpc_worker.pipeline.jobs import wait_for_job
    from bpc_worker.pipeline.rules import RulesDetail, rules_detail, run_rule_tests
    from bpc_worker.pipeline.session import PipelineSession
    from bpc_worker.postgres.queue.job_states import JobState

    async def run(pipeline: PipelineSession) -> tuple[str, JobState | None, RulesDetail]:
        version = await rules_detail(pipeline, wanted)
        job_id = await run_rule_tests(pipeline, str(version.rule_package_version_id), seed=seed)
        if not wait:
            return str(job_id), None, version
        job = await wait_for_job(pipeline, job_id, seconds=timeout, looked=patience())
        return str(job_id), job, await rules_detail(pipeline, str(version.rule_package_version_id))

    job_id, job, found = in_pipeline(config_path, tenant, run)
    last = None if job is None or found.last_run is None else found.last_run
    about = {"rule_package_version_id": found.rule_package_version_id, "status": found.status}
    click.echo(json_text({"job_id": job_id, **about, "last_run": last}) if as_json else job_id)
    _tell_run(found, job)


def _tell_run(found: "RulesDetail", job: "JobState | None") -> None:
    label = _label(found)
    if job is None:
        tell(f"the tests of {label} are queued; `bpc-worker rules show {label}` tells what they found")
        return
    for each in found.last_run.tests if found.last_run is not None and not found.last_run.passed else []:
        if each.failure is not None:
            tell(f"FAIL  {each.name}", *(f"      {line}" for line in each.failure.split("\n")))
    if not job.succeeded:
        not_done(job)
    cases = 0 if found.last_run is None else found.last_run.cases
    tell(f"{label} is {found.status}: {cases} cases pass; next: `bpc-worker rules publish {label}`")


@rules.command("publish", epilog=_WANTED)
@click.argument("wanted", metavar="RULES")
@tenant_option
@json_option("One JSON object.")
@config_option
def rules_publish(wanted: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Publish a VALIDATED version, so that passports can be compiled with it, and print NAME@VERSION.

    \b
    Example: bpc-worker rules publish eu_battery --tenant acme
    """
    from bpc_worker.pipeline.rules import publish_rules

    found = in_pipeline(config_path, tenant, publish_rules, wanted)
    click.echo(json_text(found) if as_json else _label(found))
    tell(f"{_label(found)} is {found.status}")


@rules.command("show", epilog=_WANTED)
@click.argument("wanted", metavar="RULES")
@click.option("--text", is_flag=True, help="Print the text of the rules, and nothing else.")
@tenant_option
@json_option("One JSON object, with the text.")
@config_option
def rules_show(wanted: str, *, text: bool, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Show a version: its status, hashes, and what the last run of its tests found.

    \b
    Example: bpc-worker rules show eu_battery@1 --tenant acme
    """
    from bpc_worker.pipeline.rules import rules_detail

    found = in_pipeline(config_path, tenant, rules_detail, wanted)
    if as_json:
        show_json(found)
    elif text:
        click.echo(printable(found.dsl) if sys.stdout.isatty() else found.dsl, nl=False)
    else:
        show_fields(_fields(found))


def _fields(found: "RulesDetail") -> list[tuple[str, object]]:
    fields = fields_of(
        found, "name", "version", "rule_package_version_id", "status", "dsl_sha256", "tests_sha256",
        "created_at",
    )  # fmt: skip
    run = found.last_run
    if run is None:
        return [*fields, ("tests", "never run")]
    verdict = "passed" if run.passed else "failed"
    fields.append(("tests", f"{verdict}: {run.cases} cases, seed {run.seed}, job {run.job_id}"))
    failed = [each for each in run.tests if each.failure is not None]
    return [*fields, *(("failed test", f"{each.name}: {each.failure}") for each in failed)]
