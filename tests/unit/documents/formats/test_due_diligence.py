"""Due diligence reports, as JSON and as a table of one row."""

import pytest

from tests.unit.documents.sending import facts, places, problem

REPORT = {"report_url": "https://example.com/dd/2027?lang=en#top", "period": "2027"}
HEADER = "report_url,period,third_party_assurance\n"


def test_each_member_is_a_value_with_its_place() -> None:
    found = facts(REPORT | {"summary": {"en": "No risk found"}, "supply_chain_index": 0.80}, "DUE_DILIGENCE")

    assert {fact.fact_type for fact in found} == {"Value"}
    assert [(fact.fact_key, fact.payload["value"], fact.pointer) for fact in found] == [
        ("due_diligence.report_url", REPORT["report_url"], "/report_url"),
        ("due_diligence.period", "2027", "/period"),
        ("due_diligence.summary", {"en": "No risk found"}, "/summary"),
        ("due_diligence.supply_chain_index", "0.8", "/supply_chain_index"),
    ]


def test_a_table_gives_the_same_values() -> None:
    found = facts(f"{HEADER}{REPORT['report_url']},2027,Scheme X", "DUE_DILIGENCE")

    assert [(fact.fact_key, fact.payload["value"], fact.pointer) for fact in found] == [
        ("due_diligence.report_url", REPORT["report_url"], "2:1"),
        ("due_diligence.period", "2027", "2:2"),
        ("due_diligence.assurance", "Scheme X", "2:3"),
    ]


def test_a_period_is_a_year_or_two_days() -> None:
    days = "2027-01-01/2027-12-31"

    assert facts(REPORT | {"period": days}, "DUE_DILIGENCE")[1].payload == {"value": days}


@pytest.mark.parametrize(
    "period", ["27", "2027-02", "2027-02-30/2027-03-01", "2027-12-31/2027-01-01", "a/b/c", ""]
)
def test_a_wrong_period_is_refused(period: str) -> None:
    assert problem(REPORT | {"period": period}, "DUE_DILIGENCE")[0] == "/period"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com",
        "example.com",
        "https://",
        "https://user:pw@example.com",
        "https://e.com/a b",
        "javascript:x",
    ],
)
def test_a_wrong_address_is_refused(url: str) -> None:
    assert problem(REPORT | {"report_url": url}, "DUE_DILIGENCE")[0] == "/report_url"


def test_there_is_one_report() -> None:
    row = f"{REPORT['report_url']},2027,\n"

    assert places(HEADER + row + row, "DUE_DILIGENCE") == ["line 3"]
    assert "no row below the header" in problem(HEADER, "DUE_DILIGENCE")[1]


def test_an_unknown_member_is_named() -> None:
    assert problem(REPORT | {"colour": "x"}, "DUE_DILIGENCE")[0] == "/colour"
