"""The unique identifier of a battery: the https URL that stands on it for life."""

import re

from bpc_worker.core.base import gs1

STAND_IN_HOST = "passports.example"  # where there is none of the tenant's own; never in production
ID_CHARACTERS = 16
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # nothing that is read as something else

_HOST = re.compile(r"(?=.{4,100}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_OWN = re.compile(rf"https://([^/?#]+)/p/[{CROCKFORD}]{{{ID_CHARACTERS}}}")


class IdentifierError(ValueError):
    """What can be no unique identifier."""


class TooLong(IdentifierError):  # noqa: N818 - it may be wanted
    """Longer than the registry takes."""

    def __init__(self, url: str, most: int) -> None:
        over = len(url) - most
        super().__init__(f"{url} has {len(url)} characters, {over} more than the EU registry takes ({most})")


def check_host(host: str) -> None:
    if not _HOST.fullmatch(host):
        raise IdentifierError(
            f"{host!r} is no name of a host: expected one like id.example.com, in lower case"
        )


def with_gtin(host: str, gtin: str, serial: str) -> str:
    return gs1.digital_link(host, gtin, serial)


def without_gtin(host: str, drawn: str) -> str:
    """Under sixteen characters that were drawn, never under the serial: strangers could count it up."""
    return f"https://{host}/p/{drawn}"


def check_length(url: str, most: int) -> None:
    if len(url) > most:
        raise TooLong(url, most)


def host_of(url: str) -> str:
    """The host of a unique identifier, in either of its two shapes."""
    own = _OWN.fullmatch(url)
    host = own[1] if own is not None else gs1.read_digital_link(url).host
    check_host(host)
    return host
