"""The page of one passport version: fields, how a number came about, whether it verifies, who was told."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.passport.bundle import BundleError, Verified
from bpc_worker.core.proof.explain import explain
from bpc_worker.domain.gap_reports import read_report
from bpc_worker.domain.stored import Source, StoredVersion, read_stored
from bpc_worker.handler_api import Row
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.dashboard import cells, shown
from bpc_worker.web.dashboard.checked import Checked, Checks
from bpc_worker.web.dashboard.passport_fields import Step, changes, lines, steps
from bpc_worker.web.dashboard.passport_records import CellShown, EventLine, GapLine, PassportPage, VersionLine
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.database.reading import Reading
from bpc_worker.web.layer.answers import Answer, Page, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

_CELLS: Final = 6
_FIELD_PATIENCE: Final = 10.0  # seconds: who asks for a derivation waits for the proof


class PassportQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    field: str = ""  # whose derivation is shown


class _Named(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    passport_id: UUID
    tenant_id: UUID
    tenant: str


class _Version(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    status: str
    law_date: date
    issued_at: datetime
    created_at: datetime
    rule_package_version_id: UUID
    payload: bytes


class _Event(msgspec.Struct, frozen=True):
    event_id: UUID
    occurred_at: datetime
    event_type: str
    actor_id: str
    told: int
    delivered: int


class _WithoutSeed:
    """As whoever may not read it reads a version: no page needs what the salts are made from."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        name = "dashboard/stored_version" if name == "passports/read_stored" else name
        return await self._reading.query(name, params)

    async def execute(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        raise NotImplementedError(sql, params)  # no query of a version's is made up


async def show(parts: Parts, checks: Checks, request: Request) -> Answer:
    field = request.asked(PassportQuery).field
    may_see = request.identity.may("values")
    async with viewing(parts, request) as view:
        named = await _named(view, request)
        version = await read_stored(_WithoutSeed(view.reading), named.tenant_id, named.passport_version_id)
        of_it: dict[str, object] = {"tenant_id": named.tenant_id, "passport_id": named.passport_id}
        versions = await view.rows("passport_versions", _Version, **of_it)
        events = await view.rows("passport_events", _Event, **of_it)
    checked = await (checks.of(version, patience=_FIELD_PATIENCE) if field else checks.of(version))
    told = _derivation(version, checked, field, may_see=may_see)
    shown_cells: list[CellShown] = []
    if told and may_see:
        async with viewing(parts, request) as view:
            shown_cells = await _cells(view, version, told)
    record = _page(version, checked, may_see=may_see)
    record = msgspec.structs.replace(
        record,
        at=shown.stamp(view.now),
        tenant=named.tenant,
        field=field,
        derivation=told,
        cells=shown_cells,
        versions=_versions(versions, named.passport_version_id, _public(checked, may_see=may_see)),
        events=[_event(each) for each in events],
    )
    return Page("dashboard/passport.html", record)


async def _named(view: View, request: Request) -> _Named:
    wanted = shown.uuid_or_none(request.path_args["id"])
    found = await view.rows("version_named", _Named, id=wanted) if wanted else []
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such passport, or no version of it yet")
    return found[0]


def _page(version: StoredVersion, checked: Checked, *, may_see: bool) -> PassportPage:
    row = version.row
    report = read_report(row.gaps)
    state = "verified" if checked.verified else "not_valid" if checked.why else "being_checked"
    return PassportPage(
        at="",
        version_id=row.passport_version_id,
        passport_id=row.passport_id,
        tenant="",
        serial=row.serial,
        product=row.product,
        status=row.status,
        status_since=shown.stamp(row.status_since),
        identifier=row.passport_identifier,
        facts=_facts(version),
        state=state,
        part=checked.part,
        why=checked.why if may_see else shown.unquoted(checked.why),
        fields=lines(_published(version), _audiences(checked.verified), may_see=may_see),
        field="",
        derivation=[],
        cells=[],
        versions=[],
        law=report.law or "",
        gaps=[GapLine(each.point, each.name, each.state, each.stops) for each in report.gaps if each.is_open],
        events=[],
        has_code=row.qr_png is not None,
        code=row.qr_payload or "",
        may_see=may_see,
    )


def _facts(version: StoredVersion) -> list[tuple[str, str]]:
    row = version.row
    return [
        ("law_date", str(row.law_date)),
        ("issued_at", shown.stamp(row.issued_at)),
        ("rules", row.rules_name),
        ("signing_key", row.signing_key_id),
        ("payload_hash", row.payload_hash.hex()),
        ("proof_root_hash", row.proof_root_hash.hex()),
        ("receipt_hash", row.receipt_hash.hex()),
        ("snapshot", str(row.snapshot_id)),
        ("compiler", row.compiler_build_id),
    ]


def _published(version: StoredVersion) -> Mapping[str, object]:
    try:
        return version.published()
    except BundleError:
        return {}  # a byte of it was changed: the check says so


def _audiences(verified: Verified | None) -> dict[str, tuple[str, ...]]:
    return {} if verified is None else {path: each.audiences for path, each in verified.proof.fields.items()}


def _public(checked: Checked, *, may_see: bool) -> frozenset[str] | None:
    if may_see:
        return None
    return frozenset(path for path, names in _audiences(checked.verified).items() if "public" in names)


def _derivation(version: StoredVersion, checked: Checked, field: str, *, may_see: bool) -> list[Step]:
    if not field or checked.verified is None:
        return []
    if not may_see:
        raise Permanent(Code.FORBIDDEN, "how a number came about needs the scope values")
    try:
        return steps(explain(checked.verified.proof, field, version.places()))
    except LookupError:
        raise Permanent(Code.NOT_FOUND, "the passport has no such field") from None


class _Bytes(msgspec.Struct, frozen=True):
    content: bytes
    size: int


async def _cells(view: View, version: StoredVersion, told: list[Step]) -> list[CellShown]:
    """The first few places of documents that the derivation ends at, shown."""
    wanted = list(dict.fromkeys(each.place for each in told if each.place))[:_CELLS]
    by_place: dict[str, Source] = {each.place: each for each in version.sources}
    found = []
    for name in wanted:
        source = by_place.get(name)
        if source is None:
            continue
        params: dict[str, object] = {"document_version_id": source.document_version_id}
        rows = await view.rows("document_bytes", _Bytes, **params, most=cells.MOST_BYTES)
        if not rows or rows[0].size > cells.MOST_BYTES:
            continue
        kind = "json" if source.pointer.startswith("/") else "csv"
        place = cells.place(rows[0].content, kind, source.pointer)
        if place is not None:
            found.append(CellShown(f"{source.document} {source.pointer}", place))
    return found


def _versions(versions: list[_Version], this: UUID, public: frozenset[str] | None) -> list[VersionLine]:
    """Of each, what it says otherwise than the one before it."""
    made = []
    for number, each in enumerate(versions):
        former = versions[number + 1] if number + 1 < len(versions) else None
        differs = [] if former is None else changes(_decoded(former.payload), _decoded(each.payload), public)
        made.append(
            VersionLine(
                each.passport_version_id,
                each.status,
                str(each.law_date),
                shown.stamp(each.issued_at),
                each.passport_version_id == this,
                differs,
            )
        )
    return made


def _decoded(payload: bytes) -> Mapping[str, object]:
    try:
        found = canonical_json.decode(payload)
    except CanonicalJsonError:
        return {}
    return found if isinstance(found, dict) else {}


def _event(each: _Event) -> EventLine:
    told = f"{each.delivered}/{each.told}" if each.told else ""
    return EventLine(shown.stamp(each.occurred_at), each.event_type, each.actor_id, told)


class _Code(msgspec.Struct, frozen=True):
    qr_png: bytes


async def code(parts: Parts, request: Request) -> Answer:
    """The picture on the battery."""
    async with viewing(parts, request) as view:
        named = await _named(view, request)
        found = await view.rows("qr_picture", _Code, id=named.passport_version_id)
    if not found:
        raise Permanent(Code.NOT_FOUND, "it has no code yet")
    return Raw(found[0].qr_png, "image/png")
