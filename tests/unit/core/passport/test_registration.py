"""What the EU registry is told: the same requests as JSON and as CSV, in files of at most a hundred."""

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest

from bpc_worker.core.passport.registration import Request, as_csv, as_json, pages, troubles

REQUEST = Request(
    unique_identifier="https://id.volt.eu/p/0123456789ABCDEF",
    granularity="item",
    model_identifier="https://volt.eu/ev78",
    operator_identifier="LEI:529900T8BM49AURSDO55",
    facility_identifier=None,
    commodity_code="850760",
    passport_id="urn:uuid:00000000-0000-0000-0000-000000000001",
    passport_version_id="00000000-0000-0000-0000-000000000002",
    public_view_sha256="ab" * 32,
)


def test_json_and_csv_say_the_same() -> None:
    told = json.loads(as_json([REQUEST, REQUEST]))
    [first, second] = csv.DictReader(StringIO(as_csv([REQUEST, REQUEST]).decode()))

    assert told["form"] == "BPC-REGISTRATION-1"
    assert told["requests"][0] == {name: cell for name, cell in first.items() if cell}
    assert first == second
    assert first["facility_identifier"] == ""
    assert "facility_identifier" not in told["requests"][0]


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (100, [100]), (101, [100, 1])])
def test_a_file_has_at_most_a_hundred(count: int, sizes: list[int]) -> None:
    assert [len(page) for page in pages([REQUEST] * count)] == sizes


def test_all_that_the_registry_would_not_take_is_told() -> None:
    bare = replace(REQUEST, model_identifier=None, operator_identifier="", commodity_code=None)

    assert troubles(REQUEST, 50) == []
    assert [each.partition(" ")[0] for each in troubles(bare, 50)] == [
        "model_identifier",
        "operator_identifier",
        "commodity_code",
    ]
    assert troubles(REQUEST, 30) == ["the identifier has 7 characters more than the registry takes (30)"]
