"""What becomes of a document in the inbox: a job, or a refusal that says what to do."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Literal

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.documents.mapping import titles
from bpc_worker.documents.mime_types import by_ending
from bpc_worker.documents.model import KINDS, Declared
from bpc_worker.domain.ingesting import JOB_TYPE, ingest_payload, mapping_text
from bpc_worker.inbox.layout import DECLARATION, Meaning, Place, kind_of, shown
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import NewJob, Priority

_KEY = "inbox "


class FolderSays(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """inbox.yaml: what is said of all the files of its folder."""

    mime_type: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None
    number_format: Literal["1.234,56", "1,234.56"] | None = None
    mapping: dict[str, object] | None = None

    def __post_init__(self) -> None:
        titles(self.mapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class Priorities:
    default: Priority = Priority.NORMAL
    high_endings: frozenset[str] = frozenset()

    def of(self, place: Place) -> Priority:
        return Priority.HIGH if _ending(place) in self.high_endings else self.default


def check_place(place: Place, meaning: Meaning) -> None:
    """Raise when this is no document, or has a name that cannot be stored."""
    if meaning is Meaning.STRAY:
        raise Permanent(
            Code.VALIDATION_ERROR,
            "nothing says whose document this is or what it tells: it lies outside TENANT/KIND/",
            detail={"do": f"put it into TENANT/BOM, or the folder of another kind ({', '.join(KINDS)})"},
        )
    if not "".join(place).isprintable():
        raise Permanent(
            Code.VALIDATION_ERROR,
            f"the name {shown(place)} has characters that are no text",
            detail={"do": "give it another name"},
        )


def declared(place: Place, says: FolderSays) -> Declared:
    """Kind by the folder; MIME type by inbox.yaml, else by the ending."""
    mime_type = says.mime_type or by_ending(place[-1])
    kind, folder = kind_of(place), "/".join(place[:-1])
    if mime_type is None or kind is None:
        raise Permanent(
            Code.VALIDATION_ERROR,
            f"the ending {_ending(place) or 'that is missing'} does not tell what it is",
            detail={"do": f"name it .csv, .json or .xlsx, or say mime_type in {folder}/{DECLARATION}"},
        )
    return Declared(kind=kind, mime_type=mime_type, number_format=says.number_format, mapping=says.mapping)


def key_of(what: Declared, digest: bytes) -> str:
    """The same for the same bytes with the same declaration, whatever the file is called."""
    said = {
        "kind": what.kind,
        "mime_type": what.mime_type,
        "number_format": what.number_format,
        "mapping": mapping_text(what.mapping),
        "sha256": digest.hex(),
    }
    return _KEY + sha256(canonical_json.encode(said)).hex()


def ingest(what: Declared, place: Place, digest: bytes, *, priority: Priority) -> NewJob:
    return NewJob(
        type=JOB_TYPE,
        payload=ingest_payload(what, place[-1], digest),
        priority=priority,
        idempotency_key=key_of(what, digest),
    )


def refusal(place: Place, error: Permanent) -> dict[str, object]:
    """What .error.json says: what, why, and what to do about it."""
    do = (error.detail or {}).get("do", "mend it and put it back into the inbox")
    return {"file": shown(place), "code": error.code, "message": error.message, "do": do}


def _ending(place: Place) -> str:
    return PurePath(place[-1]).suffix.lower()
