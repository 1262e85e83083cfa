"""GS1 numbers: check digits, the GTINs that may name a battery, serial numbers and their Digital Link.

After the GS1 General Specifications (check digits, character set 82, prefixes) and GS1 Digital Link.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

SERIAL_CHARACTERS = 20  # AI (21)

_SET_82 = re.compile(r"""[!"%&'()*+,\-./0-9:;<=>?A-Z_a-z]+""")
_GTIN_LENGTHS = (8, 12, 13, 14)
_LINK = re.compile(r"https://([^/?#]+)/01/([0-9]{14})/21/([^/?#]+)")
# Of the thirteen digits behind the indicator. A GTIN-8 has five zeros before it.
_NO_PRODUCTS = {
    "2": "is for use inside one company",
    "02": "is for use inside one company",
    "04": "is for use inside one company",
    "05": "is reserved for coupons",
    "98": "is for refund receipts and coupons",
    "99": "is for coupons",
    "000000": "is for use inside one company",
    "000002": "is for use inside one company",
}


class Gs1Error(ValueError):
    """A number or a serial that GS1's rules do not allow here."""


@dataclass(frozen=True, slots=True)
class DigitalLink:
    host: str
    gtin: str  # fourteen digits
    serial: str


def check_digit(digits: str) -> str:
    """What stands behind these digits: weights 3 and 1 in turn, from the right."""
    total = sum(int(digit) * (1 if place % 2 else 3) for place, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def check_number(text: str, what: str, lengths: tuple[int, ...]) -> None:
    """Only digits, of one of these lengths, the last of them the check digit of the others."""
    if not (text.isascii() and text.isdigit() and len(text) in lengths):
        allowed = " or ".join(map(str, lengths))
        raise Gs1Error(f"{what} {text!r}: expected {allowed} digits")
    if (expected := check_digit(text[:-1])) != text[-1]:
        raise Gs1Error(f"{what} {text}: its check digit is {text[-1]}, and should be {expected}")


def gtin14(text: str) -> str:
    """A GTIN of 8, 12, 13 or 14 digits in fourteen; none of those that name no product."""
    check_number(text, "GTIN", _GTIN_LENGTHS)
    padded = text.rjust(14, "0")
    for prefix, meaning in _NO_PRODUCTS.items():
        if padded[1:].startswith(prefix):
            raise Gs1Error(f"GTIN {text}: the prefix {prefix} {meaning}; GS1 gives out numbers for products")
    return padded


def check_serial(text: str) -> None:
    """1 to 20 characters of GS1's set 82."""
    if len(text) > SERIAL_CHARACTERS:
        raise Gs1Error(f"serial {text!r} has {len(text)} characters, GS1 allows {SERIAL_CHARACTERS}")
    if not _SET_82.fullmatch(text):
        raise Gs1Error(f"serial {text!r}: only characters of GS1's set 82 are allowed, and one at least")


def digital_link(host: str, gtin: str, serial: str) -> str:
    """The URL of one item: a GTIN of fourteen digits and its serial number."""
    check_serial(serial)
    return f"https://{host}/01/{gtin}/21/{quote(serial, safe='')}"


def read_digital_link(url: str) -> DigitalLink:
    """What a URL names that could be ours: in the one spelling that digital_link gives it."""
    found = _LINK.fullmatch(url)
    if found is None:
        raise Gs1Error(f"{url!r} is no https://<host>/01/<gtin>/21/<serial>")
    host, gtin, serial = found[1], found[2], unquote(found[3])
    gtin14(gtin)
    if digital_link(host, gtin, serial) != url:
        raise Gs1Error(f"{url!r} is not spelled as {digital_link(host, gtin, serial)!r}")
    return DigitalLink(host, gtin, serial)
