"""GS1 numbers, ours beside those of biip, which reads what scanners find."""

import re
from urllib.parse import unquote

import pytest
from biip import ParseError
from biip.gs1_digital_link_uris import GS1DigitalLinkURI
from biip.gtin import Gtin
from biip.rcn import Rcn
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.gs1 import (
    DigitalLink,
    Gs1Error,
    check_digit,
    check_number,
    check_serial,
    digital_link,
    gtin14,
    read_digital_link,
)

SET_82 = "!\"%&'()*+,-./0123456789:;<=>?ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
GTIN = "09520123456788"


def with_check_digit(digits: str) -> str:
    return digits + check_digit(digits)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("96385074", "00000096385074"),
        ("614141000036", "00614141000036"),
        ("4006381333931", "04006381333931"),
        ("10614141000415", "10614141000415"),
    ],
)
def test_a_gtin_of_any_length_has_fourteen_digits(given: str, expected: str) -> None:
    assert gtin14(given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "GTIN '': expected 8 or 12 or 13 or 14 digits"),
        ("4006381333932", "GTIN 4006381333932: its check digit is 2, and should be 1"),
        ("400638133393X", "expected 8 or 12 or 13 or 14 digits"),
        ("٤٠٠٦٣٨١٣٣٣٩٣١", "expected 8 or 12 or 13 or 14 digits"),
        ("2012345678903", "GTIN 2012345678903: the prefix 2 is for use inside one company"),
        (with_check_digit("020123456789"), "the prefix 02 is for use inside one company"),
        (with_check_digit("41234567890"), "the prefix 04 is"),
        (with_check_digit("51234567890"), "the prefix 05 is reserved for coupons"),
        (with_check_digit("980123456789"), "the prefix 98 is for refund receipts and coupons"),
        (with_check_digit("990123456789"), "the prefix 99 is for coupons"),
        (with_check_digit("1980123456789"), "the prefix 98 is"),
        (with_check_digit("0123456"), "the prefix 000000 is"),
        (with_check_digit("2123456"), "the prefix 000002 is"),
        ("00000000000000", "the prefix 000000 is"),
    ],
)
def test_what_names_no_product_is_refused_by_name(given: str, said: str) -> None:
    with pytest.raises(Gs1Error, match=re.escape(said)):
        gtin14(given)


def refused_by_biip(gtin: str) -> bool:
    """Restricted circulation, coupons, refund receipts, and what is kept for them."""
    found = Gtin.parse(gtin)
    usage = "" if found.prefix is None else found.prefix.usage
    return isinstance(found, Rcn) or any(word in usage for word in ("oupon", "Refund", "US reserved"))


@pytest.mark.parametrize("first", range(10))
def test_biip_says_the_same_of_every_prefix(first: int) -> None:
    for rest in range(100):
        gtin = with_check_digit(f"{first}{rest:02}512345678")
        try:
            gtin14(gtin)
            refused = False
        except Gs1Error:
            refused = True
        unassigned = Gtin.parse(gtin).prefix is None
        assert refused == refused_by_biip(gtin) or (unassigned and refused), gtin


@given(st.text("0123456789", min_size=7, max_size=13))
def test_biip_finds_our_check_digit(digits: str) -> None:
    if len(digits) + 1 in {8, 12, 13, 14}:
        assert Gtin.parse(with_check_digit(digits)).check_digit == int(check_digit(digits))
        with pytest.raises(ParseError):
            Gtin.parse(digits + str((int(check_digit(digits)) + 1) % 10))


@given(st.text("0123456789", min_size=7, max_size=13), st.data())
def test_one_wrong_digit_is_always_noticed(digits: str, data: st.DataObject) -> None:
    whole = with_check_digit(digits)
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != whole[at]]))

    with pytest.raises(Gs1Error, match="check digit"):
        check_number(whole[:at] + other + whole[at + 1 :], "number", (len(whole),))


def test_a_link_has_gtin_and_serial() -> None:
    url = digital_link("id.example.com", GTIN, "HLS-000417")

    assert url == f"https://id.example.com/01/{GTIN}/21/HLS-000417"
    assert read_digital_link(url) == DigitalLink("id.example.com", GTIN, "HLS-000417")


@given(st.text(SET_82, min_size=1, max_size=20))
def test_every_serial_of_set_82_comes_back(serial: str) -> None:
    url = digital_link("id.example.com", GTIN, serial)
    found = GS1DigitalLinkURI.parse(url)

    assert read_digital_link(url).serial == serial
    assert {each.ai.ai: each.value for each in found.element_strings} == {"01": GTIN, "21": serial}
    assert unquote(url.rsplit("/", 1)[1]) == serial


@pytest.mark.parametrize(
    ("serial", "said"),
    [
        ("", "one at least"),
        ("A B", "set 82"),
        ("Ä", "set 82"),
        ("A#B", "set 82"),
        ("A" * 21, "has 21 characters, GS1 allows 20"),
    ],
)
def test_other_serials_are_refused(serial: str, said: str) -> None:
    with pytest.raises(Gs1Error, match=said):
        check_serial(serial)
    with pytest.raises(Gs1Error, match=said):
        digital_link("id.example.com", GTIN, serial)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (f"/01/{GTIN}/21/A/B", "is no https"),
        (f"/01/{GTIN}", "is no https"),
        (f"/01/{GTIN}/21/A?x=1", "is no https"),
        (f"/01/{GTIN}/21/A#x", "is no https"),
        (f"/21/A/01/{GTIN}", "is no https"),
        (f"/01/{GTIN[1:]}/21/A", "is no https"),
        (f"/01/{GTIN[:-1]}9/21/A", "check digit"),
        (f"/01/{with_check_digit('0990123456789')}/21/A", "coupons"),
        (f"/01/{GTIN}/21/A%2fB", "is not spelled as"),
        (f"/01/{GTIN}/21/%41", "is not spelled as"),
        (f"/01/{GTIN}/21/{'A' * 21}", "GS1 allows 20"),
    ],
)
def test_another_url_names_no_item(path: str, said: str) -> None:
    with pytest.raises(Gs1Error, match=said):
        read_digital_link(f"https://id.example.com{path}")
