"""The JSON document after EN 18223: its header, and fields in objects by path."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from bpc_worker.core.base.forms import FormError
from bpc_worker.core.passport.dpp import Header, dpp

HEADER = Header(
    passport_id=UUID(int=7),
    unique_identifier="https://id.example/p/0123456789ABCDEF",
    granularity="item",
    status="ACTIVE",
    status_since=datetime(2027, 2, 18, 12, tzinfo=UTC),
    operator={"VAT": "DE1", "LEI": "5299", "DUNS": "1"},
    facility={},
)
MEMBERS = {
    "digitalProductPassportId": "urn:uuid:00000000-0000-0000-0000-000000000007",
    "uniqueProductIdentifier": "https://id.example/p/0123456789ABCDEF",
    "granularity": "item",
    "dppSchemaVersion": "BPC-DPP-1",
    "dppStatus": "active",
    "lastUpdate": "2027-02-18T12:00:00.000000Z",
    "economicOperatorId": "LEI:5299",
    "facilityId": None,
    "contentSpecificationIds": ["urn:bpc:battery-passport:1"],
}


def test_a_header_and_then_the_fields_by_path() -> None:
    fields = {
        "carbon.total": {"value": "7", "unit": "kg"},
        "carbon.share": "0.5",
        "compliance.CFB": {"holds": True},
    }

    found = dpp(HEADER, fields)

    assert json.loads(found) == MEMBERS | {
        "carbon": {"total": {"value": "7", "unit": "kg"}, "share": "0.5"},
        "compliance": {"CFB": {"holds": True}},
    }
    assert found == json.dumps(json.loads(found), sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("status", "said"),
    [("SIGNED", "inactive"), ("ACTIVE", "active"), ("SUPERSEDED", "archived"), ("REVOKED", "invalid")],
)
def test_every_status_has_its_word(status: str, said: str) -> None:
    assert json.loads(dpp(replace(HEADER, status=status), {}))["dppStatus"] == said


def test_an_identifier_of_an_unknown_scheme_is_better_than_none() -> None:
    found = json.loads(dpp(replace(HEADER, facility={"X": "2", "DUNS": "1"}), {}))

    assert found["facilityId"] == "DUNS:1"


@pytest.mark.parametrize("paths", [["granularity"], ["granularity.fine"], ["a", "a.b"], ["a.b", "a.b.c"]])
def test_no_field_takes_the_place_of_another_or_of_the_header(paths: list[str]) -> None:
    with pytest.raises(FormError, match="has no place"):
        dpp(HEADER, dict.fromkeys(paths, "x"))
