"""What became of each value of a document, from its facts and from what was refused."""

from collections.abc import Mapping
from uuid import UUID

from bpc_worker.core.base import canonical_json
from bpc_worker.pipeline.document_values import Fate, ValueSeen, values_of
from bpc_worker.pipeline.documents import FactFound, Mistake

FIELDS = {
    ("Value", "composition.mass_kg"): ("composition.mass", "completeness.weight"),
    ("Component", "component:lid"): ("composition.materials",),
}


def _fact(fact_type: str, key: str, pointer: str, payload: Mapping[str, object]) -> FactFound:
    return FactFound(UUID(int=1), fact_type, key, 1, pointer, b"", canonical_json.encode(payload))


def _seen(fact: FactFound, *refused: Mistake) -> list[ValueSeen]:
    return values_of([fact], refused, lambda fact_type, key: FIELDS.get((fact_type, key), ()))


def test_a_value_is_used_by_the_fields_that_read_its_name() -> None:
    fact = _fact("Value", "composition.mass_kg", "/mass", {"value": "400.5"})

    assert _seen(fact) == [
        ValueSeen(
            Fate.USED, "/mass", "composition.mass_kg", "400.5", ("composition.mass", "completeness.weight")
        )
    ]


def test_a_value_that_no_field_reads_is_kept_under_its_name() -> None:
    measured = {"value": "2", "measured_at": "2027-01-01T00:00:00Z", "source": "BMS"}

    assert _seen(_fact("Measured", "soce_pct", "/soce", measured)) == [
        ValueSeen(Fate.KEPT, "/soce", "soce_pct", "2"),
        ValueSeen(Fate.KEPT, "/soce", "soce_pct measured_at", "2027-01-01T00:00:00Z"),
        ValueSeen(Fate.KEPT, "/soce", "soce_pct source", "BMS"),
    ]


def test_a_row_is_used_and_what_stands_beside_it_is_kept() -> None:
    row = {
        "material": "steel",
        "defects": {"mass_kg": "is negative"},
        "further": {"/note": "x", "Colour": "red"},
    }
    refused = Mistake("/0/mass", "mass_kg: is negative")

    assert _seen(_fact("Component", "component:lid", "/0", row), refused) == [
        ValueSeen(Fate.USED, "/0", "Component material", "steel", ("composition.materials",)),
        ValueSeen(Fate.KEPT, "/0/note", value="x"),
        ValueSeen(Fate.KEPT, "/0 Colour", value="red"),
        ValueSeen(Fate.REFUSED, "/0/mass", message="mass_kg: is negative"),
    ]


def test_what_has_no_name_is_kept_by_its_place() -> None:
    fact = _fact("Kept", "kept:a form:1", "", {"form": "a form", "values": {"/a": 1, "/b/0": True}})

    assert _seen(fact) == [
        ValueSeen(Fate.KEPT, "/a", value=1),
        ValueSeen(Fate.KEPT, "/b/0", value=True),
    ]


def test_a_value_that_was_refused_is_told_once() -> None:
    fact = _fact("Value", "composition.mass_kg", "/mass", {"defect": "is negative"})

    assert _seen(fact, Mistake("/mass", "is negative")) == [
        ValueSeen(Fate.REFUSED, "/mass", message="is negative")
    ]
