"""The commands about rule texts: check, test, diff. They need no database."""

import json
from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker.cli._common.options import json_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, counted, fail, printable
from bpc_worker.cli.rules import RULE_FILE, rules, text_from

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.rules.diff import Entry
    from bpc_worker.core.rules.source import RuleError
    from bpc_worker.core.rules.testing import Report
    from bpc_worker.core.rules.typed import TypedModule

_MARKS = {"added": "+", "removed": "-", "changed": "~"}


@rules.command("check", epilog=RULE_FILE)
@click.argument("file")
@json_option("One JSON object.")
def check(file: str, *, as_json: bool) -> None:
    r"""Check the syntax, types and units of a rule text, and that no fields need each other.

    Exit codes: 0 it can be used, 1 it cannot, 2 it cannot be read.

    \b
    Example: bpc-worker rules check eu_battery
    """
    module = _loaded(file, as_json=as_json)
    if as_json:
        told = {"warnings": [*module.warnings], "drafts": sorted(module.drafts)}
        click.echo(json.dumps({"file": file, "ok": True, "errors": [], **told}))
        return
    for warning in module.warnings:
        click.echo(printable(f"{file}: warning: {warning}"))
    for name in sorted(module.drafts):
        click.echo(f"{file}: the table {name} is a draft")
    found = ((module.fields, "field"), (module.tables, "table"), (module.tests, "test"))
    counts = ", ".join(counted(len(each), what) for each, what in found)
    click.echo(f"{file}: {counts}: no errors, {counted(len(module.warnings), 'warning')}", err=True)


@rules.command("test", epilog=RULE_FILE)
@click.argument("file")
@json_option("One JSON object.")
def test(file: str, *, as_json: bool) -> None:
    r"""Run the examples and properties in a rule text.

    Exit codes: 0 all pass, 1 one fails, 2 the text cannot be read.

    \b
    Example: bpc-worker rules test eu_battery
    """
    from bpc_worker.core.rules.testing import run_tests

    module = _loaded(file, as_json=as_json)
    report = run_tests(module)
    if as_json:
        click.echo(json.dumps(_report(file, report)))
    else:
        _tell(file, report)
    raise SystemExit(0 if report.passed else EXIT_FAILED)


def _report(file: str, report: "Report") -> dict[str, object]:
    return {
        "file": file,
        "passed": report.passed,
        "cases": report.cases,
        "publishable": report.publishable,
        "tests": [
            {
                "name": each.name,
                "passed": each.failure is None,
                "cases": each.cases,
                "failure": each.failure,
            }
            for each in report.results
        ],
    }


def _tell(file: str, report: "Report") -> None:
    from bpc_worker.core.rules.testing import PUBLISHABLE_CASES

    for each in report.results:
        state = "ok  " if each.failure is None else "FAIL"
        click.echo(f"{state}  {each.name}  {counted(each.cases, 'case')}")
        if each.failure is not None:
            click.echo("\n".join(f"      {line}" for line in printable(each.failure).split("\n")))
    failed = sum(each.failure is not None for each in report.results)
    tests, cases = counted(len(report.results), "test"), counted(report.cases, "case")
    click.echo(f"{file}: {tests}, {failed} failed; {cases} passed", err=True)
    if report.publishable:
        click.echo(f"{file}: can be published", err=True)
    elif report.passed:
        lacking = PUBLISHABLE_CASES - report.cases
        click.echo(
            f"{file}: cannot be published yet: {PUBLISHABLE_CASES} passing cases are needed, "
            f"{lacking} more; a property with cases({lacking}) would do",
            err=True,
        )
    else:
        click.echo(f"{file}: cannot be published: mend what fails first", err=True)


@rules.command("diff", epilog=RULE_FILE)
@click.argument("old")
@click.argument("new")
@json_option("One JSON object per thing that differs.")
def diff(old: str, new: str, *, as_json: bool) -> None:
    r"""Show what differs between two rule texts: fields, tables, tests. Spaces and comments do not count.

    Exit codes: 0 compared, whether or not they differ; 1 one has a syntax error; 2 one cannot be read.

    \b
    Example: bpc-worker rules diff eu_battery my.rules
    """
    from bpc_worker.core.rules import diff as rules_diff
    from bpc_worker.core.rules.source import RuleError

    if old == new == "-":
        fail(EXIT_USAGE, "standard input can be only one of the two: name a file for the other")
    before, after = text_from(old), text_from(new)
    for name, source in ((old, before), (new, after)):
        try:
            rules_diff.diff(source, "")
        except RuleError as error:
            _refuse(name, source, error, as_json=as_json)
    found = rules_diff.diff(before, after)
    for entry in found:
        click.echo(json.dumps(_entry(entry)) if as_json else printable(_shown(entry)))
    if not found:
        click.echo("the two texts mean the same", err=True)


def _entry(entry: "Entry") -> dict[str, object]:
    changes = {change.aspect: {"old": change.old, "new": change.new} for change in entry.changes}
    return {"kind": entry.kind, "name": entry.name, "state": entry.state, "changes": changes}


def _shown(entry: "Entry") -> str:
    lines = [f"{_MARKS[entry.state]} {entry.kind} {entry.name}"]
    for change in entry.changes:
        lines += [f"    {change.aspect}:"]
        lines += [f"      - {change.old}"] if change.old is not None else []
        lines += [f"      + {change.new}"] if change.new is not None else []
    return "\n".join(lines)


def _loaded(file: str, *, as_json: bool) -> "TypedModule":
    from bpc_worker.core.rules.module import load
    from bpc_worker.core.rules.source import RuleError

    source = text_from(file)
    try:
        return load(source)
    except RuleError as error:
        _refuse(file, source, error, as_json=as_json)


def _refuse(file: str, source: str, error: "RuleError", *, as_json: bool) -> NoReturn:
    from bpc_worker.core.rules.source import place, render

    if as_json:
        at = place(source, error.span)
        found = {
            "code": error.code, "message": error.message, "line": at.line, "column": at.column,
            "width": at.width, "hint": error.hint,
        }  # fmt: skip
        click.echo(json.dumps({"file": file, "ok": False, "errors": [found], "warnings": [], "drafts": []}))
    else:
        click.echo(printable(f"{file}: {render(source, error)}"))
    raise SystemExit(EXIT_FAILED)
