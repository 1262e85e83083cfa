"""Identifiers of companies and places."""

import pytest

from bpc_worker.core.base.gs1 import Gs1Error
from bpc_worker.core.base.parties import PartyError, check_identifier, check_language


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("GLN", "9506000134352"),
        ("LEI", "529900T8BM49AURSDO55"),
        ("EORI", "DE123456789012345"),
        ("VAT", "DE123456789"),
        ("DUNS", "150483782"),
        ("HRB", "Aachen HRB 1234"),
    ],
)
def test_what_a_scheme_allows_is_taken(scheme: str, text: str) -> None:
    check_identifier(scheme, text)


@pytest.mark.parametrize(
    ("scheme", "text", "said"),
    [
        ("gln", "9506000134352", "no scheme of identifiers"),
        ("GLN", "9506000134353", "GLN 9506000134353: its check digit is 3, and should be 2"),
        ("GLN", "950600013435", "expected 13 digits"),
        ("LEI", "529900T8BM49AURSDO56", "two check digits"),
        ("LEI", "529900T8BM49AURSDO5", "two check digits"),
        ("EORI", "123", "EORI '123': expected a country"),
        ("VAT", "DE1", "VAT 'DE1': expected a country"),
        ("DUNS", "15-048-3782", "DUNS '15-048-3782': expected 9 digits"),
        ("HRB", "", "1 to 100 printable characters"),
        ("HRB", "a\nb", "1 to 100 printable characters"),
        ("HRB", " a", "1 to 100 printable characters"),
        ("HRB", "a" * 101, "1 to 100 printable characters"),
    ],
)
def test_others_are_refused_by_name(scheme: str, text: str, said: str) -> None:
    with pytest.raises((PartyError, Gs1Error), match=said):
        check_identifier(scheme, text)


@pytest.mark.parametrize("language", ["en", "de", "zh-Hant", "gsw"])
def test_languages(language: str) -> None:
    check_language(language)


@pytest.mark.parametrize("language", ["", "EN", "english", "e", "de_DE"])
def test_what_is_no_language(language: str) -> None:
    with pytest.raises(PartyError, match="no language"):
        check_language(language)
