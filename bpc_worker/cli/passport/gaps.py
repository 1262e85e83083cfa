"""The command that tells what the law asks for and a passport lacks."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, tenant_option
from bpc_worker.cli._common.output import EXIT_FAILED, counted, on_one_line, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.passport import passport
from bpc_worker.cli.passport.gap_texts import NOT_CHECKED, Line, as_csv, as_html, as_json, line_of

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from datetime import date, datetime

    from bpc_worker.pipeline.gaps import Gaps
    from bpc_worker.pipeline.session import PipelineSession

_CLASSES = ("EV", "LMT", "industrial", "stationary")
_WRITERS = {"json": as_json, "csv": as_csv, "html": as_html}


@passport.command("gaps")
@click.argument("wanted", metavar="SERIAL|MODEL")
@click.option(
    "--date", "law_date", type=click.DateTime(["%Y-%m-%d"]), help="As if placed on the market then."
)
@click.option("--category", type=click.Choice(_CLASSES), help="As if the battery were one of these.")
@click.option(
    "--all", "everything", is_flag=True, help="Also what is present, not yet asked or not asked at all."
)
@click.option(
    "--format", "form", type=click.Choice(["text", *_WRITERS]), default="text", show_default=True,
    help="For people, programs, a browser or a spreadsheet; other than text, always with all points.",
)  # fmt: skip
@tenant_option
@config_option
def gaps(
    wanted: str,
    *,
    law_date: "datetime | None",
    category: str | None,
    everything: bool,
    form: str,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Tell, point by point of the law's list, what a passport has and lacks, and what would bring it.

    SERIAL is also the id of a version or of a passport. Of a MODEL, by the identifier of its product, each
    point is told that any of its batteries lacks, and how many do. What was found when a version was compiled
    is stored with it; with --date or --category its facts are looked at anew, of a model those of its newest
    version.

    Exit codes: 0 nothing required is missing, 1 something is, or it was not checked against the law's list.

    \b
    Example: bpc-worker passport gaps HLS-EV78-2028-000417 --tenant acme
             bpc-worker passport gaps HLS-EV78 --format html --tenant acme > gaps.html
    """
    day = None if law_date is None else law_date.date()
    found = in_pipeline(config_path, tenant, _found, wanted, law_date=day, category=category)
    lines = [line_of(gap, batteries) for gap, batteries in found.gaps]
    if form in _WRITERS:
        click.echo(_WRITERS[form](_about(found), lines), nl=False)
    else:
        _show(found, lines, everything=everything)
    complete = found.law is not None and not any(each.is_missing for each in lines)
    raise SystemExit(0 if complete else EXIT_FAILED)


async def _found(
    pipeline: "PipelineSession", wanted: str, *, law_date: "date | None", category: str | None
) -> "Gaps":
    from bpc_worker.pipeline.gaps import gaps_if, model_gaps, read_gaps

    if law_date is not None or category is not None:
        return await gaps_if(pipeline, wanted, law_date=law_date, battery_class=category)
    return await model_gaps(pipeline, wanted) or await read_gaps(pipeline, wanted)


def _about(found: "Gaps") -> dict[str, object]:
    return {
        "of": found.of,
        "law": found.law,
        "class": found.battery_class,
        "law_date": found.law_date,
        "batteries": found.batteries,
        "findings": [f"{each.severity} {each.code}: {each.message}" for each in found.findings],
    }


def _show(found: "Gaps", lines: list[Line], *, everything: bool) -> None:
    for each in lines:
        if everything or each.is_open:
            _show_line(each, found.batteries)
    for finding in found.findings:
        click.echo(f"{finding.code:<7} does not hold ({finding.severity}): {on_one_line(finding.message)}")
    tell(on_one_line(found.of))
    if found.law is None:
        tell(NOT_CHECKED)
        return
    of = " ".join(str(each) for each in (found.battery_class, found.law_date) if each)
    tell(f"against {found.law}{f', {of}' if of else ''}")
    missing = sum(each.is_missing for each in lines)
    tell(
        f"incomplete: {counted(missing, 'required point')} missing"
        if missing
        else "nothing required is missing"
    )


def _show_line(line: Line, batteries: int) -> None:
    how_many = f", {line.batteries} of {batteries} batteries" if batteries > 1 else ""
    about = f"{line.name} ({line.source}): {line.state}, {line.standing}{how_many}"
    click.echo(f"{line.point:<7} {on_one_line(about)}")
    for text in (line.detail, f"brought by {line.brought_by}" if line.brought_by else ""):
        if text:
            click.echo(f"        {on_one_line(text)}")
