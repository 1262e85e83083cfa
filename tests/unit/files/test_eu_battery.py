"""The rules of EU passports: what waits for the law, what is kept in no view, how large a passport gets."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import cache

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.passport.compile import Sizes
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Empty, Fact, Quantity, Value
from bpc_worker.documents.vocabulary import MEASURED, VALUES, Entry, Kind
from bpc_worker.files.rules import read_rules
from tests.support import law_table
from tests.support.generated import Compiled, inputs
from tests.support.passports import registry, whole_view

SOURCE = read_rules("eu_battery")
METALS = ("cobalt", "lithium", "nickel", "lead")
TWENTY = Quantity(Decimal(20), "pct")
CARBON = {
    "carbon.raw_material_kg": "3141.5", "carbon.production_kg": "1958.5", "carbon.distribution_kg": "600",
    "carbon.end_of_life_kg": "-300", "carbon.per_kwh_kg": "0.1517", "carbon.absolute_t": "5.437",
    "carbon.performance_class": "class of the footprint", "carbon.declaration_id": "CF-DoC-1",
    "carbon.study_url": "https://volt.example/footprint", "carbon.plant": "hall of the footprint",
}  # fmt: skip
SAMPLES: Mapping[Kind, object] = {
    Kind.DECIMAL: "12.5", Kind.INTEGER: 1200, Kind.BOOL: True, Kind.TEXT: "a text of some length",
    Kind.URL: "https://volt.example/a/page.html", Kind.MONTH: "2027-01",
    Kind.TEXTS: {"de": "Ein Satz von üblicher Länge, und noch einer.", "en": "A sentence, and another one."},
}  # fmt: skip


@cache
def module(source: str = SOURCE) -> TypedModule:
    return load(source)


def with_act(name: str, adopted: str) -> str:
    """The shipped text with a table in which that act is adopted."""
    points, acts = law_table.read(law_table.POINTS), law_table.read(law_table.ACTS)
    entered = [{**act, "adopted": adopted if act["act"] == name else act["adopted"]} for act in acts]
    shipped, changed = law_table.text(points, acts), law_table.text(points, entered)
    assert SOURCE.count(shipped) == 1
    assert changed != shipped
    return SOURCE.replace(shipped, changed)


def values(**given: object) -> list[Fact]:
    return named({name.replace("__", "."): value for name, value in given.items()})


def named(given: Mapping[str, object]) -> list[Fact]:
    return [make_fact("Value", name, {"value": value}) for name, value in given.items()]


def fields(facts: Iterable[Fact], day: date, source: str = SOURCE) -> Mapping[str, Value]:
    return Evaluator(module(source), FactSet(facts), day, prove=False).run().fields


def full() -> list[Fact]:
    """One of everything that documents can say of a battery."""
    said = {name: _sample(entry) for name, entry in VALUES.items()} | CARBON
    said |= {f"recycled.{when}_consumer_{metal}_pct": "6.25" for when in ("pre", "post") for metal in METALS}
    said |= {"identity.category": "EV", "identity.vehicle_category": "M1", "composition.mass_kg": "400"}
    said |= {"condition.contains_cd": True, "condition.contains_pb": True}
    measured = [
        make_fact("Measured", name, {
            "value": _sample(entry), "measured_at": "2027-03-01T06:00:00Z", "source": "battery management",
        })
        for name, entry in MEASURED.items()
    ]  # fmt: skip
    parts = [
        make_fact("Component", f"component:{number}", {
            "part": f"part {number}", "material": "steel", "mass_kg": "10", "part_number": f"P-{number}",
            "cas": "7439-89-6", "role": "other",
        })
        for number in range(40)
    ]  # fmt: skip
    return [*named(said), *measured, *parts]


def _sample(entry: Entry) -> object:
    return entry.choices[0] if entry.choices else SAMPLES[entry.kind]


@pytest.mark.parametrize("battery", ["EV", "LMT", "INDUSTRIAL"])
@pytest.mark.parametrize("metal", METALS)
def test_a_recycled_share_is_pending_on_every_date(battery: str, metal: str) -> None:
    facts = named({"identity.category": battery, f"recycled.{metal}_pct": "20"})
    days = [date(2027, 2, 18), date(2028, 8, 18), date(2031, 8, 18), date(2036, 8, 18), date(9999, 12, 31)]

    found = [fields(facts, day) for day in days]
    assert {each[f"recycled.{metal}"] for each in found} == {
        Empty("notYet", "the law does not ask for it yet")
    }
    assert all(each[f"kept.recycled.{metal}"] == TWENTY for each in found)


@pytest.mark.parametrize("metal", METALS)
def test_with_an_act_it_is_asked_two_years_later_and_not_the_day_before(metal: str) -> None:
    source = with_act("recycled_share", "2027-01-15")
    facts = named({"identity.category": "EV", f"recycled.{metal}_pct": "20"})
    before, after = (fields(facts, date(2029, 1, day), source) for day in (14, 15))

    assert isinstance(before[f"recycled.{metal}"], Empty)
    assert after[f"recycled.{metal}"] == TWENTY
    without = fields(facts[:1], date(2029, 1, 15), source)
    assert without[f"recycled.{metal}"] == Empty("missing", "a value that it is computed from is missing")


def test_with_an_act_the_share_counts_among_what_is_missing() -> None:
    source, facts = with_act("recycled_share", "2027-01-15"), values(identity__category="EV")
    before, after = (fields(facts, date(2029, 1, day), source) for day in (14, 15))
    [early, late] = [each["completeness.missing_required"] for each in (before, after)]

    assert isinstance(early, int)
    assert late == early + len(METALS)


def test_with_an_act_light_means_of_transport_still_wait_for_2033() -> None:
    source = with_act("recycled_share", "2027-01-15")
    facts = values(identity__category="LMT", recycled__cobalt_pct="20")

    assert isinstance(fields(facts, date(2033, 8, 17), source)["recycled.cobalt"], Empty)
    assert fields(facts, date(2033, 8, 18), source)["recycled.cobalt"] == TWENTY


@pytest.mark.parametrize(
    ("act", "path"), [("carbon_ev", "carbon.per_kwh"), ("class_ev", "carbon.performance_class")]
)
def test_carbon_is_published_once_its_act_is_old_enough(act: str, path: str) -> None:
    source = with_act(act, "2027-01-15")
    facts = named({"identity.category": "EV"} | CARBON)
    month = {"carbon_ev": 1, "class_ev": 7}[act]  # 12 months later, and 18
    before, on = date(2028, month, 14), date(2028, month, 15)

    assert isinstance(fields(facts, before, source)[path], Empty)
    assert fields(facts, on, source)[path] == fields(facts, before, source)[f"kept.{path}"]


def test_all_parts_of_a_footprint_wait_for_the_same_days() -> None:
    law = module().law
    assert law is not None
    rows = {point.id: point.asked for point in law.points if point.id.startswith("EC-17")}

    assert len(rows) == 8
    assert all(each == rows["EC-17"] for each in rows.values())


@cache
def compiled() -> Compiled:
    return inputs(SOURCE, full(), law_date=date(2027, 2, 18)).compiled()


def test_the_carbon_footprint_of_2027_is_in_the_proof_and_in_nobodys_view() -> None:
    made = compiled()
    views = {name: verify_view(cut(whole_view(made), name), registry(), audience=name) for name in AUDIENCES}
    shown = {name: canonical_json.encode(dict(view.fields)).decode() for name, view in views.items()}

    for value in CARBON.values():
        assert value in made.payload.decode()
        assert value in made.proof.decode()
        assert [name for name, text in shown.items() if f'"{value}"' in text] == []
    assert [path for view in views.values() for path in view.fields if path.startswith("kept.")] == []


def test_a_passport_with_everything_in_it_stays_under_half_of_the_size_limits() -> None:
    made = compiled()

    assert len(made.payload) < Sizes().payload / 2
    assert len(made.proof) < Sizes().proof / 2


def test_too_little_cobalt_is_a_statement_for_authorities() -> None:
    facts = values(identity__category="EV", recycled__cobalt_pct="15.99")
    whole = whole_view(inputs(SOURCE, facts, law_date=date(2031, 8, 18)).compiled())
    seen = {name: verify_view(cut(whole, name), registry(), audience=name).fields for name in AUDIENCES}

    assert {name for name, found in seen.items() if "compliance.ART8_COBALT" in found} == {
        "authorities", "commission",
    }  # fmt: skip
    assert seen["authorities"]["compliance.ART8_COBALT"] == {
        "holds": False, "severity": "warn",
        "message": "Art. 8(2), 8(3): the share of cobalt recovered from waste",
    }  # fmt: skip


def test_every_name_that_documents_can_bring_is_read() -> None:
    read = set(re.findall(r'\b(?:given|declared)\(\w+, "([\w.]+)"\)', SOURCE))
    measured = set(re.findall(r'\bmeasured\(\w+, "(\w+)"\)', SOURCE))

    assert VALUES.keys() - read == set()
    assert read - VALUES.keys() == set()
    assert measured == MEASURED.keys()
