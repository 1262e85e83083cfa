"""Whatever is sent, there is an answer: facts that can be stored, or problems that can be read."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.documents.model import KINDS, Accepted, Declared, Limits
from bpc_worker.documents.parse import parse_document
from tests.support.workbooks import XLSX, number, rows, workbook
from tests.unit.documents.foreign import CATENA_X, EVENT, PACT_2, PACT_3, PCF_9
from tests.unit.documents.formats.test_due_diligence import REPORT

EXAMPLE = Path(__file__).parents[2] / "support" / "battery"
SMALL = Limits(
    json_depth=6, json_values=60, string_bytes=50, csv_rows=5, csv_columns=8, cell_bytes=30, problems=5
)
VALID = [
    *((EXAMPLE / name).read_bytes() for name in ("bom.csv", "pcf.json", "battery.json")),
    *(json.dumps(each).encode() for each in (PACT_3, PACT_2, PCF_9, CATENA_X, EVENT, REPORT)),
    b'{"batteryPassportIdentifier": "\\u00e4", "x": [1.5, 2, true, null, {"aDate": "2028-01-01"}]}',
    '{"components": [{"part": "ä"}]}'.encode("utf-16"),
    b"name;value;unit\nrated capacity;213;Ah\n",
    workbook({"Data": rows(("name", "value"), ("mass_kg", number("0.5", 1)))}),
]

declarations = st.builds(
    Declared,
    kind=st.sampled_from(KINDS),
    mime_type=st.sampled_from(["text/csv", "application/json", XLSX]),
    number_format=st.sampled_from([None, "1.234,56", "1,234.56"]),
)
limits = st.sampled_from([None, SMALL])
names = st.sampled_from(
    [
        "components", "part", "material", "mass_kg", "mass", "unit", "critical", "renewable", "stages",
        "production", "kg_co2e", "pcf", "data", "id", "battery", "life_cycles", "report_url", "period",
        "batteryMaterials", "someDate", "specVersion", "identification", "productIds", "declaredUnit",
    ]
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=20,
)


def check(content: bytes, declared: Declared, bounds: Limits | None) -> None:
    answer = parse_document(content, declared, bounds)
    if isinstance(answer, Accepted):
        made = [make_fact(each.fact_type, each.fact_key, each.payload) for each in answer.facts]
        assert made
        FactSet(made)
        return
    assert answer.problems
    assert len(answer.problems) <= (bounds or Limits()).problems + 1
    for each in answer.problems:
        assert each.message
        assert "\0" not in each.where + each.message
        assert len((each.where + each.message).encode()) < 10_000


@given(st.binary(), declarations, limits)
def test_any_bytes(content: bytes, declared: Declared, bounds: Limits | None) -> None:
    check(content, declared, bounds)


@given(st.text(alphabet='{}[]":,;\\\r\n\t .-+eE0123456789untrefalsNI"', max_size=60), declarations, limits)
def test_any_text_of_marks(text: str, declared: Declared, bounds: Limits | None) -> None:
    check(text.encode(), declared, bounds)


@given(json_values, declarations, limits)
def test_any_json(value: object, declared: Declared, bounds: Limits | None) -> None:
    check(json.dumps(value).encode(), declared, bounds)


@given(st.data(), declarations, limits)
def test_any_change_of_a_valid_document(
    data: st.DataObject, declared: Declared, bounds: Limits | None
) -> None:
    content = data.draw(st.sampled_from(VALID))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(at, min(len(content), at + 6)))
        content = (
            content[:at]
            + data.draw(st.binary(max_size=4) | st.sampled_from([b'"', b"\0", b"1e99"]))
            + content[end:]
        )

    check(content, declared, bounds)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), declarations, limits)
def test_any_table(text: str, declared: Declared, bounds: Limits | None) -> None:
    check(f"part;material;mass_kg;critical;renewable;stage;kg_co2e\n{text}".encode(), declared, bounds)
    check(f"name;value;unit;language\n{text}".encode(), declared, bounds)
    check(f"{text};mass_kg\n{text};{text}".encode(), declared, bounds)


@pytest.mark.slow
def test_hostile_sizes() -> None:
    declared = [
        Declared(kind=kind, mime_type=mime)
        for kind in KINDS
        for mime in ("text/csv", "application/json", XLSX)
    ]
    for content in (
        b"[" * 10**6,
        b'{"a":' * 10**5,
        b'"' * 10**6,
        b";" * 10**6,
        b"a\n" * 10**5,
        b'["' + b"\\" * 10**6,
        b"PK\x03\x04" * 10**5,
        b"PK\x03\x04" + b"PK\x05\x06" * 10**5,
        b"name;" * 400 + b"\n" + b";" * 10**6,
    ):
        for each in declared:
            check(content, each, None)
