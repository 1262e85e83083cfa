"""Passports: the list, one with its versions, what it lacks, what was measured of its battery."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec

from bpc_worker.domain.states import Granularity, PassportStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.documents import Registered, sent_before
from bpc_worker.pipeline.gaps import Gaps, read_gaps
from bpc_worker.pipeline.items import take
from bpc_worker.pipeline.measurements import Measured, Measurement, add_measurements, measured
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.passports import find_passport
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.api.context import Api, id_of
from bpc_worker.web.api.cursors import PageQuery, page
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.preferences import idempotency_key
from bpc_worker.web.api.products import find_product
from bpc_worker.web.api.shown import as_type, plain
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

ABOUT = "Passports"
_MOST_MEASURED = 1000


class PassportLine(msgspec.Struct, frozen=True, kw_only=True):
    """A passport, the version that is in force, and the newest one."""

    passport_id: UUID
    product: str
    serial: str
    granularity: Granularity
    unique_identifier: str
    created_at: datetime
    version_in_force: UUID | None
    newest_version: UUID | None
    newest_status: PassportStatus | None


class PassportPage(msgspec.Struct, frozen=True):
    items: list[PassportLine]
    next: str | None


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """`qr_payload`: what the code of this version says, once it is drawn."""

    passport_version_id: UUID
    passport_id: UUID
    status: PassportStatus
    rules: str
    law_date: date
    issued_at: datetime
    created_at: datetime
    receipt_hash: str
    signing_key_id: str
    qr_payload: str | None


class PassportDetail(PassportLine, frozen=True, kw_only=True):
    """`versions`: the newest first."""

    versions: list[Version]


class PassportsQuery(PageQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`status`: of any version. `product`: an id or an identifier."""

    product: str | None = None
    serial: str | None = None
    unique_identifier: str | None = None
    status: PassportStatus | None = None


class Lacking(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the law's list. `lacking`: its fields without a value, each with the reason."""

    point: str
    name: str
    source: str
    basis: str
    gate: str
    standing: str
    state: str
    stops: bool
    lacking: list[tuple[str, str]]
    unknown: list[str]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    severity: str
    message: str


class GapReport(msgspec.Struct, frozen=True, kw_only=True):
    """Of the newest version, as it was compiled; `law` null: it was not checked against the law's list."""

    of: str
    law: str | None
    law_date: date | None
    battery_class: str | None
    gaps: list[Lacking]
    findings: list[Finding]


class NewMeasurements(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Values, or a document of the kind MEASUREMENTS that names the battery."""

    measurements: Annotated[list[Measured], msgspec.Meta(max_length=_MOST_MEASURED)] = []
    document: str | None = None


class MeasurementsTaken(msgspec.Struct, frozen=True, kw_only=True):
    """They count once the document is read; the next version that is made says the last of each name."""

    document_version_id: UUID
    job_id: UUID | None


class Measurements(msgspec.Struct, frozen=True):
    items: list[Measurement]


class MeasurementsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


@dataclass(frozen=True, slots=True)
class Passports:
    api: Api

    def routes(self) -> list[ApiRoute]:
        read, values = needs("read"), needs("values")
        return [
            ApiRoute("GET", "/v1/passports", self.listed, read, query=PassportsQuery, answers=PassportPage,
                     says="Passports, in the order in which they were made.", about=ABOUT),
            ApiRoute("GET", "/v1/passports/{id}", self.shown, read, answers=PassportDetail,
                     says="One, with all its versions.", about=ABOUT),
            ApiRoute("GET", "/v1/passports/{id}/gaps", self.gaps, read, answers=GapReport,
                     says="What the law asks for and its newest version lacks.", about=ABOUT),
            ApiRoute("GET", "/v1/passports/{id}/measurements", self.measured, values,
                     query=MeasurementsQuery, answers=Measurements, about=ABOUT,
                     says="What was measured of the battery, newest first."),
            ApiRoute("POST", "/v1/passports/{id}/measurements", self.measure, needs("write", changes=True),
                     body=NewMeasurements, answers=MeasurementsTaken, statuses=(202,), about=ABOUT,
                     says="Say what was measured of the battery."),
        ]  # fmt: skip

    async def listed(self, request: Request) -> Answer:
        query = request.asked(PassportsQuery)
        found = await self.api.read(request, partial(_list, query=query))
        return page("passports", query, found, lambda each: each.passport_id, request)

    async def shown(self, request: Request) -> Answer:
        return Data(await self.api.read(request, _shown, id_of(request, "id", "passport")))

    async def gaps(self, request: Request) -> Answer:
        passport_id = id_of(request, "id", "passport")
        return Data(_report(await self.api.read(request, read_gaps, str(passport_id))))

    async def measured(self, request: Request) -> Answer:
        query = request.asked(MeasurementsQuery)
        passport_id = str(id_of(request, "id", "passport"))
        found = await self.api.read(request, measured, passport_id, name=query.name, limit=query.limit)
        return Data({"items": plain(found)})

    async def measure(self, request: Request) -> Answer:
        told = request.given(NewMeasurements)
        passport_id = id_of(request, "id", "passport")
        if bool(told.measurements) == (told.document is not None):
            raise Permanent(Code.VALIDATION_ERROR, "say measurements or document, one of them")
        key = idempotency_key(request)

        async def act(one: OneTransaction) -> Data:
            if told.document is not None:
                taken = MeasurementsTaken(
                    document_version_id=await _take(one, passport_id, told.document), job_id=None
                )
            else:
                sent = await add_measurements(one, passport_id, told.measurements, key=key)
                taken = _sent(sent)
            return Data(taken, 202)

        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, act)


async def _list(pipeline: PipelineSession, *, query: PassportsQuery) -> list[PassportLine]:
    params: dict[str, object] = {"limit": query.limit + 1, "after": query.behind("passports", UUID)}
    params["battery_product_id"] = None
    if query.product is not None:
        params["battery_product_id"] = (await find_product(pipeline, query.product)).battery_product_id
    if query.status is None:
        named = {"serial": query.serial, "unique_identifier": query.unique_identifier, "passport_id": None}
        return await _lines(pipeline, "api/passports", params | named)
    if query.serial is not None or query.unique_identifier is not None:
        raise Permanent(Code.VALIDATION_ERROR, "status does not go with serial or unique_identifier")
    return await _lines(pipeline, "api/passports_in_status", params | {"status": query.status})


async def _lines(pipeline: PipelineSession, name: str, params: dict[str, object]) -> list[PassportLine]:
    async with pipeline.reading() as tx:
        rows = await tx.query(name, {"tenant_id": pipeline.tenant_id} | params)
    return [as_type(dict(row), PassportLine) for row in rows]


async def find_line(pipeline: PipelineSession, passport_id: UUID) -> PassportLine:
    nothing = dict.fromkeys(("after", "battery_product_id", "serial", "unique_identifier"))
    found = await _lines(pipeline, "api/passports", nothing | {"passport_id": passport_id, "limit": 1})
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such passport")
    return found[0]


async def find_versions(
    pipeline: PipelineSession, passport_id: UUID, version_id: UUID | None = None
) -> list[Version]:
    params = {"passport_id": passport_id, "passport_version_id": version_id}
    async with pipeline.reading() as tx:
        rows = await tx.query("api/versions", {"tenant_id": pipeline.tenant_id, **params})
    return [as_type(dict(row), Version) for row in rows]


async def _shown(pipeline: PipelineSession, passport_id: UUID) -> PassportDetail:
    line = await find_line(pipeline, passport_id)
    members = {name: getattr(line, name) for name in line.__struct_fields__}
    return PassportDetail(**members, versions=await find_versions(pipeline, passport_id))


async def _take(one: OneTransaction, passport_id: UUID, document: str) -> UUID:
    async with one.transaction() as tx:
        found = await sent_before(one, tx, document)
        if found is None or found.kind != "MEASUREMENTS":
            raise Permanent(Code.NOT_FOUND, "there is no such document of the kind MEASUREMENTS")
        passport = await find_passport(one, tx, str(passport_id))
        await take(one, tx, [passport], found.document_version_id)
    return found.document_version_id


def _sent(sent: Registered) -> MeasurementsTaken:
    return MeasurementsTaken(document_version_id=sent.document_version_id, job_id=sent.job_id)


def _report(found: Gaps) -> GapReport:
    return GapReport(
        of=found.of,
        law=found.law,
        law_date=found.law_date,
        battery_class=found.battery_class,
        gaps=[
            Lacking(
                point=gap.point,
                name=gap.name,
                source=gap.source,
                basis=gap.basis,
                gate=gap.gate,
                standing=gap.standing,
                state=gap.state,
                stops=gap.stops,
                lacking=[*gap.lacking],
                unknown=[*gap.unknown],
            )
            for gap, _ in found.gaps
        ],
        findings=_findings(found.findings),
    )


def _findings(found: Sequence[object]) -> list[Finding]:
    return [as_type(each, Finding) for each in found]
