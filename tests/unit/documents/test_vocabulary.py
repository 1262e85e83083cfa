"""The one list of names: what each holds, and that a name, its unit and its group tell the same."""

import re
from decimal import Decimal

import pytest

from bpc_worker.documents.vocabulary import LISTS, MEASURED, VALUES, Entry, Kind, Scope

_ENDINGS = {
    "_kg": {"kg", "kgCO2e", "kgCO2e/kWh"}, "_t": {"tCO2e"}, "_pct": {"%"}, "_ah": {"Ah"}, "_v": {"V"},
    "_w": {"W"}, "_kwh": {"kWh"}, "_mohm": {"mOhm"}, "_c": {"degC"}, "_months": {"months"},
    "_years": {"years"}, "_pct_per_month": {"%/month"}, "_per_h": {"1/h"},
}  # fmt: skip
_EVERY = [*VALUES.values(), *MEASURED.values()]


@pytest.mark.parametrize("entry", _EVERY, ids=lambda entry: entry.name)
def test_a_name_ends_with_its_unit(entry: Entry) -> None:
    ending = max((each for each in _ENDINGS if entry.name.endswith(each)), key=len, default=None)

    assert re.fullmatch(r"(?:[a-z_]+\.)?[a-z0-9_]+", entry.name)
    if ending is not None:
        assert entry.unit in _ENDINGS[ending]
    elif entry.unit:
        assert entry.name.startswith("minutes_")


def test_months_are_months_and_not_numbers() -> None:
    assert VALUES["identity.manufacturing_month"].kind is Kind.MONTH
    assert VALUES["performance.warranty_months"].kind is Kind.DECIMAL


def test_choices_and_scopes_are_read_from_the_table() -> None:
    status = VALUES["identity.status"]

    assert status.choices == ("original", "repurposed", "re-used", "remanufactured", "waste")
    assert (status.kind, status.scope) == (Kind.CHOICE, Scope.ITEM)
    assert VALUES["identity.category"].scope is Scope.MODEL
    assert {entry.scope for entry in MEASURED.values()} == {Scope.ITEM}


def test_a_share_lies_between_0_and_100_and_a_footprint_may_be_a_credit() -> None:
    share, footprint, fade = (
        VALUES["recycled.cobalt_pct"],
        VALUES["carbon.end_of_life_kg"],
        MEASURED["capacity_fade_pct"],
    )

    assert (share.least, share.most) == (Decimal(0), Decimal(100))
    assert (footprint.least, footprint.most) == (None, None)
    assert (fade.least, fade.unit) == (Decimal(-100), "%")


def test_members_of_lists_are_named_once() -> None:
    for members in LISTS.values():
        names = [member.rstrip("?") for member in members.split()]
        assert len(names) == len(set(names))
