"""Which battery an address means: GS1 Digital Link, or ours without a GTIN."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bpc_worker.core.base import gs1, identifier
from bpc_worker.core.passport import qr_text
from bpc_worker.jobs.errors import Code, Permanent

_SERIAL = "21"
_ORDER = ("22", "10", _SERIAL)  # variant, batch, serial: as GS1 has them


@dataclass(frozen=True, slots=True)
class Address:
    """`identifier`: of a battery. Without one: a model, which has a GTIN."""

    host: str
    identifier: str | None = None
    gtin: str | None = None

    @property
    def url(self) -> str:
        return self.identifier or self.model_url or f"https://{self.host}/"

    @property
    def model_url(self) -> str | None:
        return None if self.gtin is None else f"https://{self.host}/01/{self.gtin}"


def with_gtin(host: str, gtin: str, qualifiers: Sequence[tuple[str, str]]) -> Address:
    """VALIDATION_ERROR for a number that is none, and for qualifiers out of order."""
    places = [_place(key) for key, _ in qualifiers]
    if places != sorted(set(places)):
        raise _bad("qualifiers stand in the order 22 (variant), 10 (batch), 21 (serial), each once")
    try:
        number = gs1.gtin14(gtin)
        for _, text in qualifiers:
            gs1.check_serial(text)
    except gs1.Gs1Error as error:
        raise _bad(str(error)) from error
    serial = dict(qualifiers).get(_SERIAL)
    return Address(host, None if serial is None else gs1.digital_link(host, number, serial), number)


def _place(key: str) -> int:
    if key not in _ORDER:
        raise _bad(f"a GTIN is qualified by 22, 10 and 21, not by {key[:20]!r}")
    return _ORDER.index(key)


def without_gtin(host: str, drawn: str) -> Address:
    if len(drawn) != identifier.ID_CHARACTERS or not set(drawn) <= set(identifier.CROCKFORD):
        raise _bad(f"expected {identifier.ID_CHARACTERS} characters of {identifier.CROCKFORD}")
    return Address(host, identifier.without_gtin(host, drawn))


def version_of(text: str | None) -> tuple[UUID, bytes | None] | None:
    """Of `?version=`: an id, or the text of a BPC1 code with the hash of the receipt that it is about."""
    if text is None:
        return None
    if text.startswith("BPC1|"):
        try:
            code = qr_text.parse(text)
        except qr_text.QrTextError as error:
            raise _bad(f"the text of the code: {error}") from error
        return code.passport_version_id, code.receipt_hash
    try:
        return UUID(text), None
    except ValueError:
        raise _bad("a version is named by its id, or by the text of its BPC1 code") from None


def _bad(why: str) -> Permanent:
    return Permanent(Code.VALIDATION_ERROR, why)
