"""The URL that stands on a battery for life."""

import pytest

from bpc_worker.core.base.gs1 import Gs1Error
from bpc_worker.core.base.identifier import (
    CROCKFORD,
    ID_CHARACTERS,
    STAND_IN_HOST,
    IdentifierError,
    TooLong,
    check_host,
    check_length,
    host_of,
    with_gtin,
    without_gtin,
)

GTIN = "09520123456788"
DRAWN = CROCKFORD[:ID_CHARACTERS]


@pytest.mark.parametrize("host", ["id.example.com", "a.eu", "x1-y.b-c.de", STAND_IN_HOST])
def test_a_host_is_found_again_in_its_identifiers(host: str) -> None:
    check_host(host)

    assert host_of(with_gtin(host, GTIN, "A-1")) == host
    assert host_of(without_gtin(host, DRAWN)) == host


@pytest.mark.parametrize(
    "host",
    [
        "", "localhost", "ID.example.com", "id.example.com.", ".example.com", "-a.example", "a-.example",
        "a..b", "a_b.example", "a.example:443", "user@a.example", "a.example/x", "ä.example", "a.example\n",
        "a." + "b" * 99,
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(IdentifierError, match="no name of a host"):
        check_host(host)


@pytest.mark.parametrize(
    "url",
    [
        f"http://a.example/p/{DRAWN}",
        f"https://a.example/p/{DRAWN}?v=1",
        f"https://a.example/p/{DRAWN[:-1]}",
        f"https://a.example/p/{DRAWN[:-1]}U",
        f"https://a.example/p/{DRAWN.lower()}",
        "https://a.example/",
    ],
)
def test_another_url_is_no_identifier(url: str) -> None:
    with pytest.raises(Gs1Error):
        host_of(url)


def test_a_host_that_is_none_makes_no_identifier() -> None:
    with pytest.raises(IdentifierError, match="no name of a host"):
        host_of(f"https://A.example/p/{DRAWN}")


def test_one_character_too_many_is_told() -> None:
    """With a GTIN, host and serial share twenty."""
    fits = with_gtin("id.volt.eu", GTIN, "0123456789")
    over = with_gtin("id.volt.eu", GTIN, "0123456789A")

    check_length(fits, 50)
    assert len(over) == 51
    with pytest.raises(TooLong, match="has 51 characters, 1 more than the EU registry takes"):
        check_length(over, 50)
