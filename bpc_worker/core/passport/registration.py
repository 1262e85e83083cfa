"""What the EU registry is told of passports (Reg. (EU) 2026/1778 Art. 8): files in a form of our own.

The registry's own form is not published; this one has what it asks for, and no more requests than it takes.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO

from bpc_worker.core.base import canonical_json

FORM = "BPC-REGISTRATION-1"
MOST_PER_FILE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One passport version; identifiers of operator and facility as `SCHEME:value`."""

    unique_identifier: str  # the https URL on the battery
    granularity: str
    model_identifier: str | None
    operator_identifier: str | None
    facility_identifier: str | None
    commodity_code: str | None
    passport_id: str
    passport_version_id: str
    public_view_sha256: str  # of the file that `passport export --audience public` writes


MEMBERS = tuple(each.name for each in fields(Request))
_NEEDED: Mapping[str, str] = {
    "model_identifier": "`bpc-worker product change --model-identifier`",
    "operator_identifier": "`bpc-worker operator change --identifier`, and `product change --operator`",
    "commodity_code": "`bpc-worker product change --commodity-code`",
}


def troubles(request: Request, most_characters: int) -> list[str]:
    """Why the registry would not take it, and what to do; then a new version, as what is signed stays."""
    told = asdict(request)
    found = [
        f"{name} is missing; {hint}, then build again" for name, hint in _NEEDED.items() if not told[name]
    ]
    over = len(request.unique_identifier) - most_characters
    if over > 0:
        found.append(f"the identifier has {over} characters more than the registry takes ({most_characters})")
    return found


def pages(requests: Sequence[Request]) -> Iterator[Sequence[Request]]:
    return (requests[at : at + MOST_PER_FILE] for at in range(0, len(requests), MOST_PER_FILE))


def as_json(requests: Sequence[Request]) -> bytes:
    """Canonical JSON; what is not known is left out."""
    told = [{name: value for name, value in asdict(each).items() if value is not None} for each in requests]
    return canonical_json.encode({"form": FORM, "requests": told})


def as_csv(requests: Sequence[Request]) -> bytes:
    """Commas, a header, an empty cell for what is not known."""
    text = StringIO()
    writer = csv.DictWriter(text, MEMBERS)
    writer.writeheader()
    writer.writerows(asdict(each) for each in requests)
    return text.getvalue().encode()
