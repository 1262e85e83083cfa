"""Identifiers of companies and places: GLN, LEI, EORI, VAT and others, checked as far as their rules go."""

import re
from collections.abc import Callable

from bpc_worker.core.base import gs1

_SCHEME = re.compile(r"[A-Z][A-Z0-9_]{1,19}")
_LEI = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_EORI = re.compile(r"[A-Z]{2}[0-9A-Z]{1,15}")
_VAT = re.compile(r"[A-Z]{2}[0-9A-Z+*]{2,12}")
_DUNS = re.compile(r"[0-9]{9}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_MOST_CHARACTERS = 100


class PartyError(ValueError):
    """An identifier that its scheme does not know, or a name that means no language."""


def check_identifier(scheme: str, text: str) -> None:
    if not _SCHEME.fullmatch(scheme):
        raise PartyError(f"{scheme!r} is no scheme of identifiers: it looks like GLN, LEI, EORI or VAT")
    if not (0 < len(text) <= _MOST_CHARACTERS and text.isprintable() and text.strip() == text):
        raise PartyError(f"{scheme} {text!r}: expected 1 to {_MOST_CHARACTERS} printable characters")
    check = _CHECKS.get(scheme)
    if check is not None:
        check(text)


def check_language(text: str) -> None:
    if not _LANGUAGE.fullmatch(text):
        raise PartyError(f"{text!r} is no language: it looks like en, de or zh-Hant")


def _gln(text: str) -> None:
    gs1.check_number(text, "GLN", (13,))


def _lei(text: str) -> None:
    """ISO 17442: letters count from 10, and the whole number is one more than a multiple of 97."""
    shaped = _LEI.fullmatch(text)
    if shaped is None or int("".join(str(int(letter, 36)) for letter in text)) % 97 != 1:
        raise PartyError(f"LEI {text!r}: expected 18 letters and digits and their two check digits")


def _shaped(scheme: str, shape: re.Pattern[str], words: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        if not shape.fullmatch(text):
            raise PartyError(f"{scheme} {text!r}: expected {words}")

    return check


_CHECKS: dict[str, Callable[[str], None]] = {
    "GLN": _gln,
    "LEI": _lei,
    "EORI": _shaped("EORI", _EORI, "a country and 1 to 15 letters and digits"),
    "VAT": _shaped("VAT", _VAT, "a country and 2 to 12 letters and digits"),
    "DUNS": _shaped("DUNS", _DUNS, "9 digits"),
}
