"""What commands say of what a passport lacks, and a gap report as JSON, CSV and HTML."""

import csv
import io
import json

import pytest

from bpc_worker.cli.passport import told
from bpc_worker.cli.passport.gap_texts import as_csv, as_html, as_json, line_of
from bpc_worker.core.passport.gaps import Gap, Report, State
from bpc_worker.core.rules.evaluated import Statement
from bpc_worker.core.rules.law import Standing

MISSING = Gap(
    point="EC-31", name="Expected lifetime in cycles", source="Annex XIII 1(j)", basis="law", gate="stop",
    standing=Standing.CONDITION_UNKNOWN, state=State.MISSING,
    lacking=(("performance.life_cycles", "not declared"), ("carbon.plant", "=cmd|' /C calc'!A0 <b>")),
    unknown=("condition.cycle_use",),
)  # fmt: skip
PRESENT = Gap(
    point="EC-03", name="Manufacturer", source="Annex VI A(1)", basis="law", gate="stop",
    standing=Standing.REQUIRED, state=State.PRESENT,
)  # fmt: skip
FINDING = Statement("SMALL", holds=False, message="2 kWh or less", severity="note")
ABOUT = {"of": "x of <y>", "law": "A list", "class": None}


def test_a_version_tells_what_it_lacks_and_which_statements_do_not_hold() -> None:
    lacking = Report(law="A list", gaps=(MISSING, PRESENT), findings=(FINDING,))

    assert told.of_report(lacking) == [
        "incomplete: 1 required point missing",
        "does not hold (note): SMALL: 2 kWh or less",
    ]
    assert told.of_report(Report(law="A list", gaps=(PRESENT,))) == []
    assert told.of_report(Report()) == ["not checked against the law's list: the rules have none"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"completeness.missing_required": 2}, ["incomplete: 2 required points missing"]),
        ({"completeness.missing_required": 0}, []),
        ({"completeness.missing_required": {"status": "missing", "reason": "not declared"}}, []),
        (
            {
                "compliance.A": {"holds": False, "message": "no", "severity": "stop"},
                "compliance.B": {"holds": True, "message": "yes", "severity": "warn"},
                "compliance_of": {"holds": False, "message": "no statement", "severity": "warn"},
            },
            ["does not hold (stop): A: no"],
        ),
    ],
)
def test_a_view_tells_what_its_audience_may_know(fields: dict[str, object], expected: list[str]) -> None:
    assert told.of_view(fields) == expected


def test_a_line_says_why_and_what_would_bring_it() -> None:
    line = line_of(MISSING, 1)

    assert line.detail.startswith("whether it is asked hangs on condition.cycle_use, which nobody declared; ")
    assert "performance.life_cycles: not declared" in line.detail
    assert line.brought_by == "DATA_SHEET or battery.json; PCF"
    assert (line.is_open, line.is_missing) == (True, True)
    assert (line_of(PRESENT, 0).is_open, line_of(PRESENT, 0).is_missing) == (False, False)


def test_json_has_every_point() -> None:
    found = json.loads(as_json(ABOUT, [line_of(MISSING, 1), line_of(PRESENT, 0)]))

    assert found["of"] == "x of <y>"
    assert [(each["point"], each["state"]) for each in found["points"]] == [
        ("EC-31", "missing"),
        ("EC-03", "present"),
    ]


def test_a_spreadsheet_runs_nothing_of_what_suppliers_wrote() -> None:
    evil = Gap(
        point="=1+1",
        name="-x",
        source="@s",
        basis="law",
        gate="stop",
        standing=Standing.REQUIRED,
        state=State.MISSING,
    )
    [head, row] = csv.reader(io.StringIO(as_csv(ABOUT, [line_of(evil, 1)])))

    assert head[:3] == ["point", "name", "standing"]
    assert (row[0], row[1], row[5]) == ("'=1+1", "'-x", "'@s")


def test_html_shows_what_suppliers_wrote_as_text() -> None:
    page = as_html(ABOUT, [line_of(MISSING, 1)])

    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "x of &lt;y&gt;" in page
    assert '<tr class="missing condition_unknown">' in page
