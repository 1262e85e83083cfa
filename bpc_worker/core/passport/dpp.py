"""A passport as one JSON document after EN 18223, in its compressed form: a header, then fields.

It has no signature: the view beside it has, and says the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.forms import FormError, timestamp
from bpc_worker.core.passport.view_text import VIEW_TYPE

SCHEMA = "BPC-DPP-1"

# Which of an operator's or a facility's identifiers stands in the header, where it has several.
_SCHEMES = ("LEI", "EORI", "GLN", "VAT")
_STATUS = {"SIGNED": "inactive", "ACTIVE": "active", "SUPERSEDED": "archived", "REVOKED": "invalid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """`operator` and `facility`: identifiers by scheme, as far as there are any."""

    passport_id: UUID
    unique_identifier: str
    granularity: str
    status: str
    status_since: datetime
    operator: Mapping[str, str]
    facility: Mapping[str, str]


def dpp(header: Header, fields: Mapping[str, object]) -> bytes:
    """Canonical JSON of the header and of fields by path, as a view shows them."""
    document: dict[str, object] = {
        "digitalProductPassportId": f"urn:uuid:{header.passport_id}",
        "uniqueProductIdentifier": header.unique_identifier,
        "granularity": header.granularity,
        "dppSchemaVersion": SCHEMA,
        "dppStatus": _STATUS[header.status],
        "lastUpdate": timestamp(header.status_since),
        "economicOperatorId": identifier(header.operator),
        "facilityId": identifier(header.facility),
        "contentSpecificationIds": [VIEW_TYPE],
    }
    for path in sorted(fields):
        _put(document, path, fields[path])
    return canonical_json.encode(document)


def identifier(by_scheme: Mapping[str, str]) -> str | None:
    """`SCHEME:value`; None where nobody has said one."""
    known = sorted(
        by_scheme, key=lambda each: (_SCHEMES.index(each) if each in _SCHEMES else len(_SCHEMES), each)
    )
    return f"{known[0]}:{by_scheme[known[0]]}" if known else None


def _put(document: dict[str, object], path: str, value: object) -> None:
    """Each name of the path is an object in the one before it."""
    *outer, last = path.split(".")
    inside = document
    for name in outer:
        below = inside.setdefault(name, {})
        if not isinstance(below, dict):
            raise FormError(f"/{name}", f"{path} has no place: {name} is a value of its own")
        inside = below
    if last in inside:
        raise FormError(f"/{last}", f"{path} has no place: that name is taken")
    inside[last] = value
