"""The golden batteries: their passports say what a script of their own computes, and never anything false."""

import json
import random
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from uuid import UUID

import pytest

from bpc_worker.core.base.audience import PUBLIC
from bpc_worker.core.passport.compile import Sizes
from bpc_worker.core.passport.dpp import Header, dpp
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.core.proof.explain import summary
from bpc_worker.core.proof.verify import verify_proof
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.values import Fact
from bpc_worker.files.rules import read_rules
from tests.golden import defects
from tests.golden.batteries import UNIQUE_IDENTIFIER, facts_of, make, rules
from tests.golden.documents import BATTERIES
from tests.golden.expect import DATES, FOLDER, expected, text
from tests.golden.law import CLASSES
from tests.golden.points import rows, table
from tests.support.generated import Compiled, inputs
from tests.support.passports import registry, whole_view

_SIGNED_BYTES = 4096  # of a view: what key services take
_WRONG: tuple[object, ...] = ("", "x", "-1", "1e400", 7, True, [], {}, {"en": ""}, None, "2027-13", "١٢")


def compared(value: object) -> object:
    """Quantities by what they are worth: 36000 kWh are 36000.0 kWh."""
    match value:
        case {"unit": unit, "value": str(number)}:
            return unit, Decimal(number)
        case dict():
            return {name: compared(each) for name, each in value.items()}
        case list():
            return [compared(each) for each in value]
        case _:
            return value


@cache
def compiled(battery: str) -> Compiled:
    return inputs(read_rules("eu_battery"), facts_of(battery)).compiled()


@pytest.mark.parametrize("battery", BATTERIES)
def test_what_is_expected_is_what_the_script_computes(battery: str) -> None:
    assert (FOLDER / f"{battery}.json").read_text(encoding="utf-8") == text(battery)


@pytest.mark.parametrize("day", DATES)
@pytest.mark.parametrize("battery", BATTERIES)
def test_a_golden_passport_says_what_is_expected_and_nothing_else(battery: str, day: str) -> None:
    made = make(facts_of(battery), day)
    wanted = expected(battery)[day] | {"identity.unique_identifier": UNIQUE_IDENTIFIER}

    assert {path: compared(value) for path, value in made.filled.items()} == {
        path: compared(value) for path, value in wanted.items()
    }
    assert made.report.stops == ()
    assert made.report.findings == ()


@pytest.mark.parametrize("battery", BATTERIES)
def test_a_golden_passport_takes_at_most_half_of_what_it_may(battery: str) -> None:
    made = compiled(battery)
    view = whole_view(made)

    assert 2 * len(made.payload) <= Sizes().payload
    assert 2 * len(made.proof) <= Sizes().proof
    assert 2 * len(view.partition(".")[2].partition(".")[0]) <= _SIGNED_BYTES
    assert 0 < len(cut(view, "public")) < len(view)


@pytest.mark.parametrize("battery", BATTERIES)
def test_no_accepted_fact_is_unread(battery: str) -> None:
    source = read_rules("eu_battery")
    unread = [
        f"{fact.fact_type} {fact.fact_key}"
        for fact in facts_of(battery)
        if f'"{fact.fact_key}"' not in source and f'"{fact.fact_key.partition(":")[0]}:"' not in source
    ]
    assert unread == []


def test_every_row_of_the_law_is_met_in_every_state_it_can_have() -> None:
    counts = [line.split("|")[1:-1] for line in table(list(rows())).splitlines()[2:]]

    assert len(counts) == len(CLASSES) * len(DATES)
    assert {row[-1].strip() for row in counts} == {"0"}, "rows without a test"


def test_without_any_fact_all_that_some_class_is_asked_for_is_missing() -> None:
    made = make([], DATES[0])

    assert made.filled.keys() == {
        path for path in made.filled if path.startswith(("condition.", "completeness."))
    }
    assert "EC-06" in made.report.stops
    assert made.filled["completeness.missing_required"] == len(made.report.stops)


@cache
def reads(path: str) -> frozenset[str]:
    """The names that stand in the text of a field."""
    text_of_field = rf"^field {re.escape(path)}:.*?;\n(?=\n|\Z)"
    found = re.search(text_of_field, read_rules("eu_battery"), re.MULTILINE | re.DOTALL)
    assert found is not None, path
    return frozenset(re.findall(r'"([a-z_]+\.[a-z0-9_]+)"', found.group()))


@pytest.mark.parametrize("seed", range(12))
def test_not_declared_is_signed_only_where_nothing_was_declared(seed: int) -> None:
    """Of facts that are left out, spoiled or as they are."""
    drawn = random.Random(seed)
    wrong = _WRONG[seed]
    kept = [
        fact if drawn.random() < seed / 12 else _spoiled(fact, wrong)
        for fact in facts_of(BATTERIES[seed % len(BATTERIES)])
        if drawn.random() < 0.8
    ]
    there = {fact.fact_key for fact in kept if fact.fact_type == "Value"}

    for path, empty in make(kept, DATES[1]).empty.items():
        if empty.kind == "missing" and empty.reason == "not declared" and reads(path):
            assert not reads(path) <= there, f"{path}: {reads(path)} was declared"


def _spoiled(fact: Fact, wrong: object) -> Fact:
    if fact.fact_type not in {"Value", "Measured"}:
        return fact
    return make_fact(fact.fact_type, fact.fact_key, {**fact.payload, "value": wrong})


def test_no_published_reason_holds_a_name_a_file_a_cell_or_a_value() -> None:
    """They are sentences of the rule text, each without digits, quotes, dots inside and underscores."""
    spoiled = [
        make_fact(each.fact_type, each.fact_key, {**each.payload, "value": "battery.json 7:3"})
        if each.fact_type in {"Value", "Measured"}
        else each
        for each in facts_of("ev")
    ]
    found = {empty.reason for facts in ([], spoiled) for empty in make(facts, DATES[0]).empty.values()}

    assert {"not declared", "declared, but not usable"} <= found
    assert all(re.fullmatch(r"[A-Za-z ,']+", reason) for reason in found), found
    assert rules().law is not None


@pytest.mark.parametrize(("file", "kind", "number_format", "told"), defects.REFUSED)
def test_every_defect_of_a_document_is_told_with_its_place(
    file: str, kind: str, number_format: str | None, told: tuple[tuple[str, str], ...]
) -> None:
    found = defects.problems(file, kind, number_format)

    assert found.keys() == {where for where, _ in told}
    assert all(word in found[where] for where, word in told), found


def test_a_battery_called_x_with_almost_nothing_is_stopped_by_every_point_it_lacks() -> None:
    made = make(defects.facts(), DATES[0])
    whole = make(facts_of("ev"), DATES[0])
    has = {"EC-06", "EC-26", "EC-28"}  # the category, and two voltages

    for path, why in defects.UNUSABLE.items():
        assert (made.empty[path].reason, made.empty[path].detail) == ("declared, but not usable", why)
    lacks = {point for point in made.report.stops if point.startswith(("EC", "R"))}
    unknown = {point for point, gap in made.gaps.items() if gap.unknown}
    assert (
        lacks - unknown
        == {point for point, gap in whole.gaps.items() if gap.is_asked and point not in has | {"R-13"}}
        - unknown
    )
    assert {"EC-35", "EC-57", "EC-58"} <= unknown, "what nobody said whether it is asked counts as missing"


@pytest.mark.parametrize("battery", BATTERIES)
def test_each_number_is_followed_to_its_cell(battery: str) -> None:
    made = compiled(battery)
    proved = verify_proof(made.proof, law_date=date(2027, 2, 18), facts=FactSet(facts_of(battery)))
    sources = {(each.fact_type, each.fact_key): [f"{each.fact_key} 1:1"] for each in facts_of(battery)}

    for path, value in make(facts_of(battery), DATES[0]).filled.items():
        if isinstance(value, dict) and "unit" in value:
            assert any(line.startswith("    from ") for line in summary(proved, path, sources)), path


@pytest.mark.parametrize("battery", BATTERIES)
def test_the_document_after_en_18223_has_all_that_everybody_may_see(battery: str) -> None:
    made = compiled(battery)
    shown = verify_view(cut(whole_view(made), PUBLIC), registry(), audience=PUBLIC).fields
    header = Header(
        passport_id=UUID(int=2),
        unique_identifier=UNIQUE_IDENTIFIER,
        granularity="item",
        status="ACTIVE",
        status_since=datetime(2027, 2, 18, tzinfo=UTC),
        operator={"VAT": "DE100000417"},
        facility={},
    )
    document = json.loads(dpp(header, shown))

    assert document["dppStatus"] == "active"
    assert document["composition"]["mass"] == shown["composition.mass"]
    assert document["carbon"]["per_kwh"]["empty"] == "notYet"
    assert "kept" not in document
