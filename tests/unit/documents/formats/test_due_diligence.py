"""Due diligence reports, as JSON and as a table of one row."""

import pytest

from tests.unit.documents.sending import one_fact, places, problem

REPORT = {"report_url": "https://example.com/dd/2027?lang=en#top", "period": "2027"}
HEADER = "report_url,period,third_party_assurance\n"


def test_a_report_is_one_fact() -> None:
    fact = one_fact(REPORT, "DUE_DILIGENCE")

    assert (fact.fact_type, fact.fact_key, fact.pointer) == ("DueDiligence", "report", "")
    assert fact.payload == REPORT


def test_a_table_gives_the_same_fact() -> None:
    fact = one_fact(f"{HEADER}{REPORT['report_url']},2027,Scheme X", "DUE_DILIGENCE")

    assert fact.payload == REPORT | {"third_party_assurance": "Scheme X"}
    assert fact.pointer == "2:1"
    assert one_fact(f"url;period\n{REPORT['report_url']};2027", "DUE_DILIGENCE").payload == REPORT


def test_a_period_is_a_year_or_two_days() -> None:
    days = "2027-01-01/2027-12-31"

    assert one_fact(REPORT | {"period": days}, "DUE_DILIGENCE").payload["period"] == days


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
    assert problem(REPORT | {"assurance": "x"}, "DUE_DILIGENCE")[0] == "/assurance"
