"""What becomes of a battery: another life under another passport, waste, the end."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.domain import lives
from bpc_worker.domain.events import Happened
from bpc_worker.domain.records import Operator, Passport, PassportVersion
from bpc_worker.domain.states import LifeStatus, PassportStatus
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.documents import find_document
from bpc_worker.pipeline.identifiers import NO_LEAVE, Leave
from bpc_worker.pipeline.items import take
from bpc_worker.pipeline.operators import find_operator
from bpc_worker.pipeline.passports import FoundPassport, find_passport
from bpc_worker.pipeline.products import find_product
from bpc_worker.pipeline.serials import known_serials, page_of_serials
from bpc_worker.pipeline.session import PipelineSession, check_reason
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

SECOND_LIVES = (LifeStatus.RE_USED, LifeStatus.REPURPOSED, LifeStatus.REMANUFACTURED)


class Life(msgspec.Struct, frozen=True):
    """passport_lives"""

    passport_life_id: UUID
    passport_id: UUID
    status: LifeStatus
    operator: str | None  # who answers for it from then on
    reason: str
    created_at: datetime


class Linked(Passport, frozen=True):
    product: str


class History(msgspec.Struct, frozen=True):
    passport: FoundPassport
    lives: list[Life]  # oldest first; none: it is what it was made as
    predecessors: list[Linked]
    successors: list[Linked]


class NewLife(msgspec.Struct, frozen=True, kw_only=True):
    """A battery that was prepared for re-use, repurposed or remanufactured: who places it on the market."""

    status: LifeStatus
    product: str
    serial: str
    operator: str
    reason: str
    documents: Sequence[str] = ()  # that tell of it


async def history(pipeline: PipelineSession, wanted: str) -> History:
    async with pipeline.reading() as tx:
        found = await find_passport(pipeline, tx, wanted)
        params = _of(pipeline, found)
        return History(
            passport=found,
            lives=all_of(await tx.query("lives/of_passport", params), Life),
            predecessors=all_of(await tx.query("lives/predecessors", params), Linked),
            successors=all_of(await tx.query("lives/successors", params), Linked),
        )


@again
async def become_waste(pipeline: PipelineSession, wanted: str, operator: str, reason: str) -> UUID:
    """The passport stays; another operator answers for it. Its next version says both."""
    check_reason(reason)
    async with pipeline.transaction() as tx:
        found = await find_passport(pipeline, tx, wanted)
        last = await _last(pipeline, tx, found)
        if last is LifeStatus.WASTE:
            raise Permanent(Code.VALIDATION_ERROR, f"{found.serial} is waste already")
        by = await find_operator(pipeline, tx, operator)
        await _begin(pipeline, tx, found, LifeStatus.WASTE, by, reason)
        await pipeline.record(tx, _transferred(found, LifeStatus.WASTE, by, reason))
        return found.passport_id


@again
async def begin_life(
    pipeline: PipelineSession, predecessors: Sequence[str], new: NewLife, leave: Leave = NO_LEAVE
) -> Passport:
    """A new passport, linked to those of the batteries it was made from; these stay until it is in force."""
    check_reason(new.reason)
    if new.status not in SECOND_LIVES:
        raise Permanent(
            Code.VALIDATION_ERROR, f"{new.status}: a new passport is of {', '.join(SECOND_LIVES)}"
        )
    async with pipeline.transaction() as tx:
        former = [await find_passport(pipeline, tx, wanted) for wanted in dict.fromkeys(predecessors)]
        for each in former:
            await _last(pipeline, tx, each)
        by = await find_operator(pipeline, tx, new.operator)
        made = await _new_passport(pipeline, tx, new, leave)
        await tx.query(
            "lives/link", _of(pipeline, made) | {"predecessors": [each.passport_id for each in former]}
        )
        await _begin(pipeline, tx, made, new.status, by, new.reason)
        for wanted in new.documents:
            document = await find_document(pipeline, tx, wanted)
            await take(pipeline, tx, [made], document.document_version_id)
        told = [
            _transferred(each, new.status, by, new.reason, successor=made.unique_identifier)
            for each in former
        ]
        await pipeline.record(tx, *told)
        return made


async def _new_passport(pipeline: PipelineSession, tx: Tx, new: NewLife, leave: Leave) -> Passport:
    product = await find_product(pipeline, tx, new.product)
    if await known_serials(pipeline, tx, product, [new.serial]):
        message = f"{new.product} has a battery {new.serial} already: a new passport has a serial of its own"
        raise Permanent(Code.VALIDATION_ERROR, message)
    [made] = await page_of_serials(pipeline, tx, product, [new.serial], leave)
    return made


@again
async def end_life(pipeline: PipelineSession, wanted: str, reason: str) -> UUID:
    """It was recycled: its passport is in force no longer, and no other version of it will be."""
    check_reason(reason)
    async with pipeline.transaction() as tx:
        found = await find_passport(pipeline, tx, wanted)
        await _last(pipeline, tx, found)
        versions = all_of(await tx.query("passports/lock_versions", _of(pipeline, found)), PassportVersion)
        active = next((each for each in versions if each.status == PassportStatus.ACTIVE), None)
        if active is None:
            happened = _happened(found, "PASSPORT_ENDED", {"reason": reason})
        else:
            happened = await lives.supersede(tx, pipeline.tenant_id, active, "PASSPORT_ENDED", reason=reason)
        await _begin(pipeline, tx, found, LifeStatus.RECYCLED, None, reason)
        await pipeline.record(tx, happened)
        return found.passport_id


async def _last(pipeline: PipelineSession, tx: Tx, passport: Passport) -> LifeStatus | None:
    """What it is now, held until the transaction ends; a battery that was recycled becomes nothing more."""
    params = _of(pipeline, passport)
    await tx.query("lives/hold", params)
    known = all_of(await tx.query("lives/of_passport", params), Life)
    if known and known[-1].status is LifeStatus.RECYCLED:
        when = known[-1].created_at.date()
        raise Permanent(
            Code.VALIDATION_ERROR, f"{passport.serial} was recycled ({when}): its passport has ended"
        )
    return known[-1].status if known else None


async def _begin(
    pipeline: PipelineSession,
    tx: Tx,
    passport: Passport,
    status: LifeStatus,
    by: Operator | None,
    reason: str,
) -> None:
    operator_id = None if by is None else by.operator_id
    row = {"status": status, "operator_id": operator_id, "reason": reason}
    await tx.query("lives/add", _of(pipeline, passport) | row)


def _transferred(
    passport: Passport, status: LifeStatus, by: Operator, reason: str, **more: object
) -> Happened:
    told = {"status": status, "operator": by.name, "reason": reason}
    return _happened(passport, "PASSPORT_TRANSFERRED", told | more)


def _happened(passport: Passport, event_type: str, payload: dict[str, object]) -> Happened:
    return Happened(
        event_type=event_type,
        aggregate_type="passport",
        aggregate_id=passport.passport_id,
        payload=payload,
    )


def _of(pipeline: PipelineSession, passport: Passport) -> dict[str, object]:
    return {"tenant_id": pipeline.tenant_id, "passport_id": passport.passport_id}
