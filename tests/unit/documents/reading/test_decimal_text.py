"""Numbers keep their exact value; only the spelling is made one."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Unfit
from bpc_worker.documents.reading.decimal_text import PLAIN, SPELLINGS, read, read_json, text_of

LIMITS = Limits()


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("0", "0"), ("-0.00", "0.00"), ("+1.50", "1.50"), ("007", "7"), ("1.5E3", "1500"), ("1.50e2", "150"),
        ("1.500E1", "15.00"), ("12e-3", "0.012"), ("3000.50", "3000.50"), ("0E10", "0"),
        ("1E50", "1" + 50 * "0"), ("1E-50", "0." + 49 * "0" + "1"), ("9" * 50, "9" * 50),
        ("1e0000000000003", "1000"),
    ],
)  # fmt: skip
def test_a_number_is_kept_in_plain_notation_with_its_trailing_zeros(written: str, kept: str) -> None:
    assert text_of(read(written, LIMITS)) == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [("1.234,56", "1234.56"), ("1.234.567", "1234567"), ("1234,5", "1234.5"), ("-0,5", "-0.5")],
)
def test_a_comma_is_the_point_where_it_is_declared(written: str, kept: str) -> None:
    assert text_of(read(written, LIMITS, SPELLINGS["1.234,56"])) == kept


@pytest.mark.parametrize(("written", "kept"), [("1,234.56", "1234.56"), ("12,345", "12345"), ("1e3", "1000")])
def test_a_comma_parts_thousands_where_it_is_declared(written: str, kept: str) -> None:
    assert text_of(read(written, LIMITS, SPELLINGS["1,234.56"])) == kept


@pytest.mark.parametrize("written", ["1.5", "12.34,5", "1.2345", ",5", "5,", "1..234", ".234", "1.234,56,7"])
def test_thousands_have_three_digits(written: str) -> None:
    """1.5 could be 1.5 or 15: it is refused, not guessed."""
    with pytest.raises(Unfit, match=r"write it like 1\.234,56"):
        read(written, LIMITS, SPELLINGS["1.234,56"])


@pytest.mark.parametrize(
    ("written", "declared", "offered"),
    [
        ("0,520", None, ['"1.234,56"']),
        ("0,520", "1,234.56", ['"1.234,56"']),
        ("0.520", "1.234,56", ["no number_format", '"1,234.56"']),
        ("00,520", "1,234.56", ['"1.234,56"']),
        ("1,500", None, ['"1.234,56"', '"1,234.56"']),
        ("1,5", None, ['"1.234,56"']),
        ("1,234.5", None, ['"1,234.56"']),
        ("1,2,3", None, []),
        ("1,5 kg", None, []),
    ],
)
def test_only_formats_in_which_it_is_a_number_are_offered(
    written: str, declared: str | None, offered: list[str]
) -> None:
    """0,520 is never 520: a group cannot begin with 0."""
    with pytest.raises(Unfit) as unfit:
        read(written, LIMITS, SPELLINGS[declared])

    advice = str(unfit.value).partition("declare")[2]
    assert [each for each in ("no number_format", '"1.234,56"', '"1,234.56"') if each in advice] == offered


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "is empty"),
        ("NaN", "finite"),
        ("-Infinity", "finite"),
        ("١٢", "other scripts"),
        ("\uff11\uff12", "other scripts"),
        ("½", "other scripts"),
        ("1_000", "underscores"),
        ("1,5", "declare number_format"),
        ("12 kg", "write it like 1234.56"),
        ("0x10", "write it like 1234.56"),
        (" 1", "write it like 1234.56"),
        ("1.", "write it like 1234.56"),
        (".5", "write it like 1234.56"),
        ("1\n", "write it like 1234.56"),
        ("--1", "write it like 1234.56"),
    ],
)
def test_what_is_no_number_is_refused_with_advice(written: str, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        read(written, LIMITS)


@pytest.mark.parametrize("written", ["1" * 51, "0." + "1" * 51, "1" + "0" * 200, "0." + "0" * 200 + "1"])
def test_more_digits_than_allowed_are_refused(written: str) -> None:
    with pytest.raises(Unfit, match="more than 50 digits"):
        read(written, LIMITS)


@pytest.mark.parametrize(
    "written", ["1E51", "1e-51", "1E308", "1E999999999999999999999999", "0E51", "0." + "0" * 60]
)
def test_a_greater_exponent_than_allowed_is_refused(written: str) -> None:
    with pytest.raises(Unfit, match="exponent of 50"):
        read(written, LIMITS)


@pytest.mark.parametrize("written", ["01", "+1", "1.", ".5", "-", "1e", "0x1", "True", "None"])
def test_json_has_a_stricter_grammar(written: str) -> None:
    with pytest.raises(Unfit, match="not a JSON value"):
        read_json(written, LIMITS)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**20), max_value=10**20))
def test_reading_what_is_kept_gives_the_same_number_and_spelling(value: Decimal) -> None:
    kept = text_of(value)

    assert read(kept, LIMITS) == value
    assert text_of(read(kept, LIMITS)) == kept


@given(st.integers(0, 10**20), st.text("0123456789", max_size=20))
def test_every_spelling_of_a_number_is_the_same_number(whole: int, fraction: str) -> None:
    plain = f"{whole}.{fraction}" if fraction else str(whole)
    grouped = f"{whole:,}"
    english = f"{grouped}.{fraction}" if fraction else grouped
    continental = english.translate(str.maketrans(".,", ",."))

    assert text_of(read(plain, LIMITS, PLAIN)) == plain
    assert text_of(read(english, LIMITS, SPELLINGS["1,234.56"])) == plain
    assert text_of(read(continental, LIMITS, SPELLINGS["1.234,56"])) == plain


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_unfit(text: str) -> None:
    for spelling in SPELLINGS.values():
        try:
            assert read(text, LIMITS, spelling).is_finite()
        except Unfit as unfit:
            assert str(unfit)  # noqa: PT017 - either end is right
