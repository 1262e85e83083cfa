import pytest

from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules.suggest import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("kwh", "kWh"),
        ("KG", "kg"),
        ("kWhh", "kWh"),
        ("tCO2", "tCO2e"),
        ("kgCO2e_per_kwh", "kgCO2e_per_kWh"),
        ("pct_per_mnth", "pct_per_month"),
        ("furlong", None),
        ("", None),
        ("x" * 100, None),
    ],
)
def test_the_word_that_was_probably_meant(word: str, meant: str | None) -> None:
    assert nearest(word, UNITS) == meant


def test_among_very_many_words_the_likeliest_are_compared() -> None:
    known = [f"field{number:05}" for number in range(20_000)]

    assert nearest("field1999x", known) is not None
    assert nearest("field19990", known) == "field19990"


def test_very_long_words_are_not_compared() -> None:
    assert nearest("ab", ["a" * 100_000]) is None


def test_a_hint_names_the_word_or_says_something_else() -> None:
    assert did_you_mean("isSom", ["isSome"], "x") == "did you mean isSome?"
    assert did_you_mean("zzz", ["isSome"], "look it up") == "look it up"
