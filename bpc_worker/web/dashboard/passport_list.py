"""The page Passports: the newest first, each with how its newest version stands."""

from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.view import viewing
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

PAGE = 50


class PassportsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    product: str = ""
    after: str = ""


class _Listed(msgspec.Struct, frozen=True):
    passport_id: UUID
    tenant: str
    serial: str
    product: str
    created_at: datetime
    passport_version_id: UUID | None
    status: str | None
    version_at: datetime | None


class PassportLine(msgspec.Struct, frozen=True):
    passport_id: UUID
    tenant: str
    serial: str
    product: str
    status: str
    at: str


class Passports(msgspec.Struct, frozen=True):
    lines: list[PassportLine]
    more: str


async def show(parts: Parts, request: Request) -> Answer:
    asked = request.asked(PassportsQuery)
    async with viewing(parts, request) as view:
        found = await view.rows(
            "passports",
            _Listed,
            tenant_id=view.tenant_id,
            product=shown.uuid_or_none(asked.product),
            after=shown.uuid_or_none(asked.after),
            page=PAGE,
        )
    rows = [
        PassportLine(
            each.passport_id,
            each.tenant,
            each.serial,
            each.product,
            each.status or "",
            shown.stamp(each.version_at),
        )
        for each in found
    ]
    last = found[-1] if len(found) == PAGE else None
    more = "" if last is None else urlencode({"product": asked.product, "after": str(last.passport_id)})
    return Page("dashboard/passports.html", Passports(rows, more))
