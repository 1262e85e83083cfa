"""Who makes batteries and where: economic operators and their facilities, as passports tell of them."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from bpc_worker.core.base.gs1 import Gs1Error
from bpc_worker.core.base.parties import PartyError, check_identifier, check_language
from bpc_worker.domain.records import Facility, Operator
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import maybe

_LONGEST = 200
_NOBODY = UUID(int=0)  # the database gives the id


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of one of them: None and what is not named stay, an empty text takes away."""

    name: str | None = None
    address: Mapping[str, str] = {}  # by language
    identifiers: Mapping[str, str] = {}  # by scheme
    contact: str | None = None
    web: str | None = None


class ListedFacility(Facility, frozen=True):
    operator: str


@again
async def add_operator(pipeline: PipelineSession, name: str, told: Told) -> tuple[Operator, bool]:
    """The operator with this name, and whether it is new; one that was there stays as it is."""
    check_text("name", name)
    new = _operator(Operator(_NOBODY, name, {}, None, None, {}), told)
    async with pipeline.transaction() as tx:
        added = bool(await tx.query("operators/add", _columns(pipeline, new)))
        return await find_operator(pipeline, tx, name), added


@again
async def change_operator(pipeline: PipelineSession, name: str, told: Told) -> Operator:
    """From now on: versions that are there keep what their snapshots say."""
    async with pipeline.transaction() as tx:
        found = maybe(await tx.query("operators/hold", _named(pipeline, name)), Operator)
        if found is None:
            raise _unknown("operator", name)
        changed = _operator(found, told)
        if changed.name != name and await tx.query("operators/find", _named(pipeline, changed.name)):
            raise _taken(changed.name)
        await tx.query("operators/change", _columns(pipeline, changed))
        return changed


@again
async def add_facility(
    pipeline: PipelineSession, name: str, operator: str, told: Told
) -> tuple[Facility, bool]:
    """The facility with this name, and whether it is new; one that was there stays as it is."""
    check_text("name", name)
    async with pipeline.transaction() as tx:
        owner = await find_operator(pipeline, tx, operator)
        new = _facility(Facility(_NOBODY, owner.operator_id, name, {}, {}), told)
        added = bool(await tx.query("facilities/add", _columns(pipeline, new)))
        return await find_facility(pipeline, tx, name), added


@again
async def change_facility(
    pipeline: PipelineSession, name: str, told: Told, *, operator: str | None = None
) -> Facility:
    """From now on: versions that are there keep what their snapshots say."""
    async with pipeline.transaction() as tx:
        found = maybe(await tx.query("facilities/hold", _named(pipeline, name)), Facility)
        if found is None:
            raise _unknown("facility", name)
        changed = _facility(found, told)
        if operator is not None:
            owner = await find_operator(pipeline, tx, operator)
            changed = msgspec.structs.replace(changed, operator_id=owner.operator_id)
        if changed.name != name and await tx.query("facilities/find", _named(pipeline, changed.name)):
            raise _taken(changed.name)
        await tx.query("facilities/change", _columns(pipeline, changed))
        return changed


async def find_operator(pipeline: PipelineSession, tx: Tx, name: str) -> Operator:
    found = maybe(await tx.query("operators/find", _named(pipeline, name)), Operator)
    if found is None:
        raise _unknown("operator", name)
    return found


async def find_facility(pipeline: PipelineSession, tx: Tx, name: str) -> Facility:
    found = maybe(await tx.query("facilities/find", _named(pipeline, name)), Facility)
    if found is None:
        raise _unknown("facility", name)
    return found


async def operators(pipeline: PipelineSession) -> list[Operator]:
    """By name."""
    return await pipeline.rows("operators/list", Operator)


async def facilities(pipeline: PipelineSession) -> list[ListedFacility]:
    """By name."""
    return await pipeline.rows("facilities/list", ListedFacility)


def check_text(what: str, text: str) -> None:
    if not (0 < len(text) <= _LONGEST and text.isprintable() and text.strip() == text):
        message = f"{what} {text!r}: expected 1 to {_LONGEST} printable characters, no blanks around them"
        raise Permanent(Code.VALIDATION_ERROR, message)


def _operator(there: Operator, told: Told) -> Operator:
    _check(told)
    return msgspec.structs.replace(
        there,
        name=told.name or there.name,
        address=_over(there.address, told.address),
        identifiers=_over(there.identifiers, told.identifiers),
        contact=(there.contact if told.contact is None else told.contact) or None,
        web=(there.web if told.web is None else told.web) or None,
    )


def _facility(there: Facility, told: Told) -> Facility:
    _check(told)
    return msgspec.structs.replace(
        there,
        name=told.name or there.name,
        address=_over(there.address, told.address),
        identifiers=_over(there.identifiers, told.identifiers),
    )


def _over(there: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in {**there, **told}.items() if text}


def _check(told: Told) -> None:
    texts = [("name", told.name), ("contact", told.contact), ("web", told.web)]
    for what, text in [*texts, *(("address", each) for each in told.address.values())]:
        if text:
            check_text(what, text)
    if told.web and not told.web.startswith(("https://", "http://")):
        raise Permanent(Code.VALIDATION_ERROR, f"web {told.web!r}: an address begins with https://")
    try:
        for language in told.address:
            check_language(language)
        for scheme, text in told.identifiers.items():
            if text:
                check_identifier(scheme, text)
    except (PartyError, Gs1Error) as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error


def _unknown(what: str, name: str) -> Permanent:
    return Permanent(Code.NOT_FOUND, f"no {what} {name!r}; `bpc-worker {what} list` shows them")


def _taken(name: str) -> Permanent:
    return Permanent(Code.VALIDATION_ERROR, f"{name!r} is the name of another; choose one that is free")


def _named(pipeline: PipelineSession, name: str) -> dict[str, object]:
    return {"tenant_id": pipeline.tenant_id, "name": name}


def _columns(pipeline: PipelineSession, party: Operator | Facility) -> dict[str, object]:
    maps = {"address": party.address, "identifiers": party.identifiers}
    texts = {name: msgspec.json.encode(each).decode() for name, each in maps.items()}
    return {"tenant_id": pipeline.tenant_id} | msgspec.structs.asdict(party) | texts
