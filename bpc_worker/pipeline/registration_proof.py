"""A proof of registration (JSON or CSV) as what it says of each passport, with all that is wrong at once."""

from dataclasses import dataclass
from datetime import datetime

from bpc_worker.core.base.forms import FormError, parse_hash
from bpc_worker.documents.mapping import Titles
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems, Unfit
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.encodings import decoded
from bpc_worker.documents.reading.json_text import decode
from bpc_worker.documents.reading.record import Record, json_record
from bpc_worker.documents.reading.table import csv_sheet, lines
from bpc_worker.jobs.errors import Permanent

_NEEDED = ("unique_identifier", "registration_id", "registered_at", "passport_sha256")
_MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    unique_identifier: str
    registration_id: str
    registered_at: datetime
    passport_sha256: bytes  # of the public view that was registered


def read_proof(content: bytes) -> list[Registered]:
    """In the order of the file; `{"registrations": [...]}`, or a CSV with the same names as columns."""
    limits = Limits(csv_rows=_MOST)
    problems = Problems(limits.problems)
    text = decoded(content, problems) or ""
    is_json = text.lstrip().startswith("{")
    records = _of_json(text, limits, problems) if is_json else _of_csv(text, limits, problems)
    found = [each for each in map(_registered, records) if each is not None]
    if not found and not problems:
        problems.add("", "it tells of no registration")
    if problems:
        rejected = problems.rejected()
        listed = "; ".join(f"{each.where}: {each.message}".removeprefix(": ") for each in rejected.problems)
        raise Permanent(rejected.code, listed)
    return found


def _of_json(text: str, limits: Limits, problems: Problems) -> list[Record]:
    top = json_record(decode(text, limits, problems), "", problems)
    listed = None if top is None else top.values.get("registrations")
    if not isinstance(listed, list):
        problems.add("/registrations", "a list of registrations is expected")
        return []
    records = [json_record(each, f"/registrations/{at}", problems) for at, each in enumerate(listed)]
    return [each for each in records if each is not None]


def _of_csv(text: str, limits: Limits, problems: Problems) -> list[Record]:
    sheet = csv_sheet(text, Titles(), limits, problems)
    names = {name: name for name in _NEEDED}
    return [line.record for line in lines(sheet, names, lambda _: _NEEDED, problems)]


def _registered(record: Record) -> Registered | None:
    identifier, registration = (record.need(name, readings.name) for name in _NEEDED[:2])
    at, digest = record.need("registered_at", readings.moment), record.need("passport_sha256", _hash)
    if identifier is None or registration is None or at is None or digest is None:
        return None
    return Registered(
        unique_identifier=identifier,
        registration_id=registration,
        registered_at=datetime.fromisoformat(at),
        passport_sha256=digest,
    )


def _hash(value: object) -> bytes:
    try:
        return parse_hash(readings.name(value).lower())
    except FormError:
        raise Unfit("a SHA-256 of 64 hexadecimal digits is expected") from None
