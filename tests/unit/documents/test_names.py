"""Which name of the vocabulary a title means, and in which unit."""

from decimal import Decimal

import pytest

from bpc_worker.documents.names import advice, named, normal
from bpc_worker.documents.problems import Unfit
from bpc_worker.documents.units import in_unit, without_unit
from bpc_worker.documents.vocabulary import MEASURED, VALUES


@pytest.mark.parametrize("name", VALUES)
def test_every_name_and_its_words_mean_it(name: str) -> None:
    entry = VALUES[name]

    assert named(name) == (entry, "")
    assert named(name.upper().replace(".", " ")) == (entry, "")
    assert named(entry.words)[0] in {entry, None}  # None: two names have the same words


@pytest.mark.parametrize(
    ("title", "name", "unit"),
    [
        ("Mass (g)", "composition.mass_kg", "g"),
        ("mass_kg", "composition.mass_kg", ""),
        ("Mass [kg]", "composition.mass_kg", "kg"),
        ("v_nom", "performance.voltage_nominal_v", ""),
        ("lead", "composition.lead_pct", ""),
    ],
)
def test_a_title_may_be_short_and_say_its_unit(title: str, name: str, unit: str) -> None:
    assert named(title) == (VALUES[name], unit)


@pytest.mark.parametrize("title", ["name", "safety", "cobalt", "declaration_id", "", "()", "x" * 10_000])
def test_what_says_too_little_means_nothing(title: str) -> None:
    assert named(title)[0] is None
    assert len(advice(title)) < 400


@pytest.mark.parametrize("title", ["prevention", "declaration_id", "cobalt"])
def test_the_last_part_of_a_name_is_enough_for_advice(title: str) -> None:
    assert "did you mean " in advice(title)


def test_a_unit_of_every_name_is_known() -> None:
    for entry in (*VALUES.values(), *MEASURED.values()):
        if entry.unit:
            assert in_unit(Decimal("1.50"), entry.unit, entry.unit) == Decimal("1.50")


@pytest.mark.parametrize(
    ("value", "given", "wanted", "found"),
    [
        ("1", "kWh", "kWh", "1"),
        ("1.50", "mAh", "Ah", "0.00150"),
        ("2", "m\N{GREEK CAPITAL LETTER OMEGA}", "mOhm", "2"),
        ("3", "kg CO\N{SUBSCRIPT TWO} eq", "kgCO2e", "3"),
        ("3", "t", "tCO2e", "3"),
        ("1", "h", "min", "60"),
        ("7", "", "V", "7"),
        ("7", "-", "V", "7"),
    ],
)
def test_units_are_turned_exactly(value: str, given: str, wanted: str, found: str) -> None:
    assert str(in_unit(Decimal(value), given, wanted)) == found


@pytest.mark.parametrize(("given", "wanted"), [("MAh", "Ah"), ("lb", "kg"), ("months", "years"), ("kg", "")])
def test_a_unit_that_does_not_fit_is_refused(given: str, wanted: str) -> None:
    with pytest.raises(Unfit, match="does not fit"):
        in_unit(Decimal(1), given, wanted)


def test_a_count_has_no_unit_but_cycles() -> None:
    without_unit("Cycles")
    with pytest.raises(Unfit, match="it has none"):
        without_unit("kg")


def test_titles_are_compared_without_marks() -> None:
    assert normal(" Kap. C3 (mAh) ") == "kap_c3_mah"
