"""The commands of whoever finds out what is wrong: doctor, explain."""

import json
from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_UNREACHABLE, fail, printable
from bpc_worker.cli._common.startup import database_url, load_settings

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.doctor.examine import Report
    from bpc_worker.doctor.findings import Finding, Thresholds
    from bpc_worker.jobs.errors import Code

_COLOURS = {"wrong": "red", "note": "yellow", "well": "green", "unseen": "yellow"}


@main.command()
@json_option("One JSON object with everything that was found.")
@click.option(
    "--stale-after", type=click.FloatRange(0, 86_400), default=300.0, show_default=True,
    help="Seconds after which an open transaction is an old one.",
)  # fmt: skip
@config_option
def doctor(*, as_json: bool, stale_after: float, config_path: str | None) -> None:
    r"""Find out what is wrong with configuration, database, schema, broker and keys, and how to mend it.

    Nothing is changed. Every finding says what it is, why it matters, and what to paste into psql or a shell.
    Exit codes: 0 all well (notes are no faults), 1 something is wrong, 69 no database.

    \b
    Example: bpc-worker doctor
    Example: bpc-worker doctor --json | jq -r '.findings[] | select(.level == "wrong") | .what'
    """
    from bpc_worker.doctor.findings import Thresholds

    report = _examined(config_path, Thresholds(stale_seconds=stale_after))
    if as_json:
        click.echo(json.dumps(_as_json(report), ensure_ascii=False))
    else:
        _show(report)
    _leave(report)


def _examined(config_path: str | None, thresholds: "Thresholds") -> "Report":
    from bpc_worker import registry
    from bpc_worker.config.load import ConfigError
    from bpc_worker.doctor import configuration
    from bpc_worker.doctor.examine import IN_THE_DATABASE, WITHOUT_DATABASE, Report, examine

    unseen = [*WITHOUT_DATABASE, *IN_THE_DATABASE][1:]
    try:
        settings = load_settings(config_path)
        handlers = registry.load()
    except ConfigError as error:
        return Report(findings=list(configuration.problems(error.problems)), unseen=unseen)
    except registry.RegistryError as error:
        return Report(findings=list(configuration.handlers(error.problems)), unseen=unseen)
    with database_url(settings) as url:
        return examine(settings, handlers, url, embedded=settings.database.url is None, thresholds=thresholds)


def _as_json(report: "Report") -> dict[str, object]:
    return {
        "well": report.is_well,
        "server": report.server,
        "findings": [
            {"check": f.check, "level": f.level, "what": f.what, "why": f.why, "fix": f.fix, "paste": f.paste}
            for f in report.findings
        ],
        "examined": report.well,
        "unseen": report.unseen,
    }


def _show(report: "Report") -> None:
    if report.server:
        click.echo(report.server)
    for family in report.well:
        click.echo(f"{_marked('well')}  {family}")
    for family in report.unseen:
        click.echo(f"{_marked('unseen')}  {printable(family)}: not examined")
    for finding in report.findings:
        _show_finding(finding)
    wrong = sum(finding.level == "wrong" for finding in report.findings)
    things = "1 thing is wrong; mend it" if wrong == 1 else f"{wrong} things are wrong; mend them"
    click.echo(f"\n{things} and run it again" if wrong else "\nall well")


def _marked(word: str) -> str:
    return click.style(f"{word:<6}", fg=_COLOURS[word], bold=word == "wrong")


def _show_finding(finding: "Finding") -> None:
    click.echo(f"\n{_marked(finding.level)}  {finding.check}: {printable(finding.what)}")
    click.echo(f"        why: {printable(finding.why)}")
    where = "psql, as a superuser or a member of bpc_owner" if finding.paste == "psql" else "a shell"
    click.echo(f"        fix, in {where}:")
    for line in printable(finding.fix).splitlines():
        click.echo(f"          {line}")


def _leave(report: "Report") -> NoReturn:
    if report.no_database:
        raise SystemExit(EXIT_UNREACHABLE)
    raise SystemExit(0 if report.is_well else EXIT_FAILED)


@main.command()
@click.argument("code", required=False)
@json_option("One JSON object per code.")
def explain(*, code: str | None, as_json: bool) -> None:
    r"""Tell what an error code means, what usually causes it and what to do; without one, list them all.

    \b
    Example: bpc-worker explain LEASE_EXPIRED
    """
    from bpc_worker.jobs.errors import Code
    from bpc_worker.jobs.explanations import EXPLANATIONS

    wanted = list(Code) if code is None else [_code(code)]
    for each in wanted:
        found = EXPLANATIONS[each]
        if as_json:
            told = {
                "code": each,
                "retryable": found.retryable,
                "meaning": found.meaning,
                "causes": found.causes,
                "do": found.actions,
            }
            click.echo(json.dumps(told, ensure_ascii=False))
        elif code is None:
            click.echo(f"{each:<24}{found.meaning}")
        else:
            again = (
                "tried again with backoff, until the attempts are used up"
                if found.retryable
                else "FAILED at once"
            )
            click.echo(f"{click.style(each, bold=True)} ({again})\n{found.meaning}")
            click.echo("\n".join(["usual causes:", *(f"  - {cause}" for cause in found.causes)]))
            click.echo("\n".join(["what to do:", *(f"  - {action}" for action in found.actions)]))


def _code(text: str) -> "Code":
    import difflib

    from bpc_worker.jobs.errors import Code

    wanted = text.strip().upper()
    if wanted not in Code.__members__:
        close = difflib.get_close_matches(wanted, list(Code), n=1, cutoff=0.4)
        hint = f"did you mean {close[0]}?" if close else "if it is a handler's own, ask its author"
        every = "`bpc-worker explain` lists all codes"
        fail(EXIT_NOT_FOUND, f"no code {printable(text)!r} here; {hint}", every)
    return Code[wanted]
