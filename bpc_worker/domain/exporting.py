"""What is handed out of a passport version, in each format: the same for a job and for a command."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.audience import PUBLIC
from bpc_worker.core.base.forms import FormError
from bpc_worker.core.passport import dpp
from bpc_worker.core.passport.bundle import BundleError
from bpc_worker.core.passport.replay import ReplayMismatchError
from bpc_worker.core.passport.salts import export_name
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.core.passport.view_text import ViewError
from bpc_worker.domain.bundling import bundle_of
from bpc_worker.domain.events import Happened
from bpc_worker.domain.records import Fact
from bpc_worker.domain.states import PassportStatus
from bpc_worker.domain.stored import Row, StoredVersion
from bpc_worker.files.bundles import write_zip
from bpc_worker.handler_api import Code, Permanent


class Format(StrEnum):
    BUNDLE = "bundle"  # everything, for the archive
    VIEW = "view"  # what one audience may see, signed
    DPP = "dpp"  # the same after EN 18223, with the view beside it
    LABEL = "label"  # for the battery, with the code of its identifier; `carrier.of_version` makes it


_FOR_NOBODY_ELSE = (Format.BUNDLE, Format.LABEL)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    format: Format
    audience: str | None = None  # of a view and a dpp; without one the public

    def __post_init__(self) -> None:
        if self.format in _FOR_NOBODY_ELSE and self.audience is not None:
            raise ValueError(f"a {self.format} has no audience; ask for the format view or dpp")

    @property
    def is_for(self) -> str | None:
        """Whose view it is, if it is one."""
        return None if self.format in _FOR_NOBODY_ELSE else self.reader

    @property
    def reader(self) -> str:
        return self.audience or PUBLIC


class File(msgspec.Struct, frozen=True):
    name: str
    data: bytes


class Named(msgspec.Struct, frozen=True):
    """A file in results and events: by size and salted name, since by its hash it could be guessed."""

    name: str
    size: int
    content: str

    @staticmethod
    def of(file: File, seed: bytes) -> "Named":
        return Named(file.name, len(file.data), export_name(seed, file.data))


def files_of(version: StoredVersion, wanted: Wanted) -> list[File]:
    """The same names and bytes every time, of a dpp for as long as the status is the same.

    Verified before they are handed out. It asks for no salt, so the version may come without its seed.
    """
    check_signed(version.row)
    try:
        return _files(version, wanted, stem_of(version.row))
    except ViewError as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error
    except (BundleError, ReplayMismatchError) as error:
        hint = "`bpc-worker passport replay` says more; nothing was handed out"
        raise Permanent(Code.REPLAY_MISMATCH, f"{error}; {hint}") from error


def check_signed(row: Row) -> None:
    if row.status == PassportStatus.COMPILING:
        raise Permanent(Code.VALIDATION_ERROR, f"the passport version is {row.status}: not signed yet")


def stem_of(row: Row) -> str:
    """What the names of all its files begin with."""
    return f"passport-{row.passport_version_id}"


def public_fields(version: StoredVersion) -> dict[str, object]:
    """What everybody may see, by path; verified."""
    check_signed(version.row)
    try:
        return verify_view(cut(version.view(), PUBLIC), version.registry, audience=PUBLIC).fields
    except (BundleError, ViewError) as error:
        raise Permanent(Code.REPLAY_MISMATCH, f"{error}; nothing was handed out") from error


def _files(version: StoredVersion, wanted: Wanted, stem: str) -> list[File]:
    if wanted.format is Format.BUNDLE:
        return [File(f"{stem}.zip", write_zip(bundle_of(version)))]
    text = cut(version.view(), wanted.reader)
    view = File(f"{stem}-{wanted.reader}.sd-jwt", text.encode())
    shown = verify_view(text, version.registry, audience=wanted.reader).fields
    if wanted.format is Format.VIEW:
        return [view]
    name = f"{stem}-{wanted.reader}-{version.row.status.lower()}.dpp.json"
    return [File(name, _dpp(version, shown)), view]


def _dpp(version: StoredVersion, shown: Mapping[str, object]) -> bytes:
    row = version.row
    header = dpp.Header(
        passport_id=row.passport_id,
        unique_identifier=row.unique_identifier,
        granularity=row.granularity,
        status=row.status,
        status_since=row.status_since,
        operator=identifiers(version.facts, "Operator"),
        facility=identifiers(version.facts, "Facility"),
    )
    try:
        return dpp.dpp(header, shown)
    except FormError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"no document after EN 18223 can be made: {error}") from error


class _Identified(msgspec.Struct, frozen=True):
    identifiers: dict[str, str] = {}


def identifiers(facts: Iterable[Fact], fact_type: str) -> dict[str, str]:
    """As they were when the snapshot was sealed."""
    for fact in facts:
        if fact.fact_type == fact_type:
            return msgspec.convert(canonical_json.decode(fact.canonical), _Identified).identifiers
    return {}


def exported(
    passport_id: UUID, passport_version_id: UUID, wanted: Wanted, files: Sequence[Named]
) -> Happened:
    """For the audit trail of the passport."""
    return Happened(
        event_type="PASSPORT_EXPORTED",
        aggregate_type="passport",
        aggregate_id=passport_id,
        payload={
            "passport_version_id": str(passport_version_id),
            "format": wanted.format,
            "audience": wanted.is_for,
            "files": [msgspec.to_builtins(each) for each in files],
        },
    )
