"""Lists of serials and tables of measurements: each cell a fact of one battery, or a mistake."""

import pytest

from bpc_worker.documents.model import Accepted, Declared, FoundFact, Rejected
from bpc_worker.documents.parse import parse_document

WHEN = {"measured_at": "2027-02-18T12:00:00.000000Z", "source": "workshop"}
ROW = "SN-1;98;2027-02-18T12:00:00Z;workshop\n"


def facts(text: str, kind: str = "SERIALS", number_format: str | None = None) -> list[FoundFact]:
    declared = Declared(kind=kind, mime_type="text/csv", number_format=number_format)
    found = parse_document(text.encode(), declared)
    assert isinstance(found, Accepted), found
    return list(found.facts)


def problems(text: str, kind: str = "SERIALS") -> list[tuple[str, str]]:
    found = parse_document(text.encode(), Declared(kind=kind, mime_type="text/csv"))
    assert isinstance(found, Rejected), found
    return [(each.where, each.message) for each in found.problems]


def test_each_cell_of_a_list_is_a_fact_of_the_battery_of_its_row() -> None:
    found = facts("Serial number;batch;identity.manufacturing_month\nSN-1;B-1;2027-02\nSN-2;;2027-03-09\n")

    assert [(each.item, each.fact_type, each.fact_key, each.payload, each.pointer) for each in found] == [
        ("SN-1", "Value", "identity.batch", {"value": "B-1"}, "2:2"),
        ("SN-1", "Value", "identity.manufacturing_month", {"value": "2027-02"}, "2:3"),
        ("SN-2", "Value", "identity.manufacturing_month", {"value": "2027-03"}, "3:3"),
    ]


def test_a_list_may_say_what_was_measured_of_each() -> None:
    found = facts(
        "serial;measured.rated_capacity_ah;measured_at;source\nSN-1;94,5;2027-02-18T13:00:00+01:00;workshop\n",
        number_format="1.234,56",
    )

    [fact] = found
    assert (fact.fact_type, fact.fact_key) == ("Measured", "rated_capacity_ah")
    assert fact.payload == {"value": "94.5"} | WHEN


def test_a_name_that_only_measurements_have_needs_no_prefix() -> None:
    [fact] = facts("serial;soce_pct;measured_at;source\nSN-1;98;2027-02-18T12:00:00Z;workshop\n")

    assert (fact.fact_type, fact.fact_key) == ("Measured", "soce_pct")


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("batch\nB-1\n", "line 1", 'column serial is missing; found are "batch"'),
        (
            "serial;btach\nSN-1;B-1\n",
            "line 1, column 2",
            '"btach" is not known here; did you mean identity.batch?',
        ),
        ("serial;batch\nSN-1;B-1\nSN-1;B-2\n", "line 3", '"SN-1" stands already at line 2; keep one'),
        ("serial;batch\nSN-1;\n", "line 2", '"SN-1" has no value of its own; `bpc-worker serials add`'),
        ("serial;serial_number;batch\nA;B;C\n", "line 1, column 2", "a second column for serial; keep one"),
        ("serial;soce_pct\nSN-1;98\n", "line 1", "columns measured_at, source are missing"),
        ("serial;status\nSN-1;new\n", "line 2, column 2", '"status": "new" is not one of: original'),
        ("serial;batch\n;B-1\n", "line 2, column 1", '"serial": is empty; give a value'),
        ("serial;batch\n", "", "the list names no battery; add a row for each"),
    ],
)
def test_what_is_wrong_with_a_list_is_said_with_its_place(text: str, where: str, message: str) -> None:
    [(found, said)] = problems(text)

    assert found == where
    assert said.startswith(message)


def test_measurements_stand_under_their_names() -> None:
    found = facts(
        "serial;measured_at;source;soce_pct;cycles\n"
        "SN-1;2027-02-18T12:00:00Z;workshop;98.5;12\nSN-1;2027-03-18T12:00:00Z;workshop;;13\n",
        "MEASUREMENTS",
    )

    assert [(each.fact_key, each.payload["value"], each.payload["measured_at"]) for each in found] == [
        ("soce_pct", "98.5", "2027-02-18T12:00:00.000000Z"),
        ("cycles", 12, "2027-02-18T12:00:00.000000Z"),
        ("cycles", 13, "2027-03-18T12:00:00.000000Z"),
    ]
    assert {each.item for each in found} == {"SN-1"}


def test_measurements_may_come_one_in_a_row_and_so_may_negative_events() -> None:
    found = facts(
        "serial;name;value;measured_at;source\n"
        "SN-1;soce_pct;98.5;2027-02-18T12:00:00Z;workshop\n"
        "SN-2;negative_event;crash of the vehicle;2027-02-18T12:00:00Z;workshop\n",
        "MEASUREMENTS",
    )

    assert [(each.item, each.fact_type, each.fact_key, each.payload, each.pointer) for each in found] == [
        ("SN-1", "Measured", "soce_pct", {"value": "98.5"} | WHEN, "2:3"),
        (
            "SN-2",
            "NegativeEvent",
            f"event:{WHEN['measured_at']}",
            {"at": WHEN["measured_at"], "what": "crash of the vehicle"},
            "3:3",
        ),
    ]


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        (
            "serial;batch\nSN-1;B-1\n",
            "line 1, column 2",
            '"batch" is nothing that is measured; known are: rated',
        ),
        (
            "serial;name;value;measured_at\nSN-1;soce_pct;98;2027-02-18T12:00:00Z\n",
            "line 1",
            "column source is missing",
        ),
        (
            "serial;name;value;measured_at;source\nSN-1;colour;98;2027-02-18T12:00:00Z;workshop\n",
            "line 2, column 2",
            '"name": "colour" is nothing that is measured; known are: rated_capacity_ah',
        ),
        (
            "serial;name;value;measured_at;source\nSN-1;soce_pct;101;2027-02-18T12:00:00Z;workshop\n",
            "line 2, column 3",
            '"value": 101 is above 100 %',
        ),
        (
            "serial;soce_pct;measured_at;source\nSN-1;98;yesterday;workshop\n",
            "line 2, column 3",
            '"measured_at": "yesterday" is not a time stamp',
        ),
        (
            f"serial;soce_pct;measured_at;source\n{ROW}{ROW.replace('98', '97')}",
            "line 3",
            'soce_pct of "SN-1" at this time stands already at 2:2 with another value; keep one',
        ),
        ("serial;soce_pct;measured_at;source\n", "", "nothing was measured here; add a row for each"),
    ],
)
def test_what_is_wrong_with_measurements_is_said_with_its_place(text: str, where: str, message: str) -> None:
    [(found, said)] = problems(text, "MEASUREMENTS")

    assert found == where
    assert said.startswith(message)


def test_what_was_measured_twice_alike_is_no_mistake() -> None:
    assert len(facts(f"serial;soce_pct;measured_at;source\n{ROW}{ROW}", "MEASUREMENTS")) == 2


@pytest.mark.parametrize("kind", ["SERIALS", "MEASUREMENTS"])
def test_an_empty_table_is_refused(kind: str) -> None:
    assert problems("\n\n;", kind)
