"""What the page of a passport version shows."""

from uuid import UUID

import msgspec

from bpc_worker.web.dashboard.cells import ShownPlace
from bpc_worker.web.dashboard.passport_fields import Change, FieldLine, Step


class VersionLine(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    status: str
    law_date: str
    issued: str
    is_this: bool
    changes: list[Change]


class GapLine(msgspec.Struct, frozen=True):
    point: str
    name: str
    state: str
    stops: bool


class EventLine(msgspec.Struct, frozen=True):
    at: str
    type: str
    who: str
    told: str


class CellShown(msgspec.Struct, frozen=True):
    name: str
    place: ShownPlace


class PassportPage(msgspec.Struct, frozen=True):
    at: str
    version_id: UUID
    passport_id: UUID
    tenant: str
    serial: str
    product: str
    status: str
    status_since: str
    identifier: str
    facts: list[tuple[str, str]]
    state: str  # verified, not_valid, being_checked
    part: str
    why: str
    fields: list[FieldLine]
    field: str
    derivation: list[Step]
    cells: list[CellShown]
    versions: list[VersionLine]
    law: str
    gaps: list[GapLine]
    events: list[EventLine]
    has_code: bool
    code: str
    may_see: bool
