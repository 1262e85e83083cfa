"""Serial numbers of a product's batteries: their owner's or drawn, each with its unique identifier."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bpc_worker.core.base.identifier import STAND_IN_HOST
from bpc_worker.core.base.serials import MADE_CHARACTERS, SerialError, check_plain, count_up
from bpc_worker.domain.records import Passport, Product
from bpc_worker.domain.states import Granularity
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.identifiers import NO_LEAVE, STAND_IN, Leave, drawn, host_for_new, new_identifier
from bpc_worker.pipeline.products import find_product
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

MOST = 100_000  # at a time

_PAGE = 5_000
_MOST_PROBLEMS = 10
_NEIGHBOURS = 100  # serials that are there, beside which new ones may count up


@dataclass(frozen=True, slots=True)
class Serials:
    passports: list[Passport]  # in the order in which they were asked for
    added: int
    warnings: list[str]


@again
async def add_serials(
    pipeline: PipelineSession,
    product: str,
    serials: Sequence[str],
    *,
    granularity: Granularity = Granularity.ITEM,
    leave: Leave = NO_LEAVE,
) -> Serials:
    """The owner's; those that are there keep their identifiers. All are taken or none."""
    wanted = list(dict.fromkeys(serials))
    _check(wanted, leave)
    async with pipeline.transaction() as tx:
        found = await find_product(pipeline, tx, product)
        host = await host_for_new(pipeline, tx)
        batch = _Batch(pipeline, tx, found, host, granularity, leave)
        before = await _newest(pipeline, tx, found, _NEIGHBOURS)
        added = await batch.add(wanted)
        passports = await batch.find(wanted)
    warnings = _warnings(host, passports, pipeline.settings.limits.identifier_characters)
    pair = count_up([*(each.serial for each in before), *wanted])
    if pair is not None:
        warnings.append(_countable(pair, found))
    return Serials(passports, added, warnings)


@again
async def make_serials(
    pipeline: PipelineSession,
    product: str,
    count: int,
    *,
    granularity: Granularity = Granularity.ITEM,
    leave: Leave = NO_LEAVE,
) -> Serials:
    """So many new ones, of characters that were drawn."""
    if not 0 < count <= MOST:
        raise Permanent(Code.VALIDATION_ERROR, f"{count} serials: 1 to {MOST} at a time")
    async with pipeline.transaction() as tx:
        found = await find_product(pipeline, tx, product)
        host = await host_for_new(pipeline, tx)
        batch = _Batch(pipeline, tx, found, host, granularity, leave)
        made: list[str] = []
        while len(made) < count:  # once, unless one of them was there by chance
            new = list(dict.fromkeys(drawn(MADE_CHARACTERS) for _ in range(count - len(made))))
            known = {each.serial for each in await batch.known(new)}
            fresh = [each for each in new if each not in known]
            await batch.add(fresh)
            made += fresh
        passports = await batch.find(made)
    limit = pipeline.settings.limits.identifier_characters
    return Serials(passports, len(passports), _warnings(host, passports, limit))


async def page_of_serials(
    pipeline: PipelineSession, tx: Tx, product: Product, serials: Sequence[str], leave: Leave
) -> list[Passport]:
    """Some of a list of the owner's, in this transaction: all are there afterwards."""
    _check(serials, leave)
    host = await host_for_new(pipeline, tx)
    batch = _Batch(pipeline, tx, product, host, Granularity.ITEM, leave)
    await batch.add(serials)
    return await batch.find(serials)


async def known_serials(
    pipeline: PipelineSession, tx: Tx, product: Product, serials: Sequence[str]
) -> list[Passport]:
    """Those of them that the product has."""
    params = {"tenant_id": pipeline.tenant_id, "battery_product_id": product.battery_product_id}
    return all_of(await tx.query("serials/find", params | {"serials": list(serials)}), Passport)


async def list_serials(pipeline: PipelineSession, product: str, limit: int) -> list[Passport]:
    """Newest first."""
    async with pipeline.reading() as tx:
        return await _newest(pipeline, tx, await find_product(pipeline, tx, product), limit)


async def _newest(pipeline: PipelineSession, tx: Tx, product: Product, limit: int) -> list[Passport]:
    params = {"tenant_id": pipeline.tenant_id, "battery_product_id": product.battery_product_id}
    return all_of(await tx.query("serials/list", params | {"limit": limit}), Passport)


@dataclass(frozen=True, slots=True)
class _Batch:
    pipeline: PipelineSession
    tx: Tx
    product: Product
    host: str
    granularity: Granularity
    leave: Leave

    async def add(self, serials: Sequence[str]) -> int:
        """How many are new."""
        there = {each.serial for each in await self.known(serials)}
        added = 0
        for page in _pages([each for each in serials if each not in there]):
            urls = [new_identifier(self.pipeline, self.host, self.product, each, self.leave) for each in page]
            row = {"granularity": self.granularity, "serials": page, "unique_identifiers": urls}
            added += len(await self.tx.query("serials/add", self._product() | row))
        return added

    async def known(self, serials: Sequence[str]) -> list[Passport]:
        return [
            each
            for page in _pages(serials)
            for each in all_of(
                await self.tx.query("serials/find", self._product() | {"serials": page}), Passport
            )
        ]

    async def find(self, serials: Sequence[str]) -> list[Passport]:
        """All of them, in this order."""
        found = {each.serial: each for each in await self.known(serials)}
        missing = [each for each in serials if each not in found]
        if missing:
            message = f"the identifiers of {_named(missing)} stand on other batteries already"
            raise Permanent(Code.VALIDATION_ERROR, message)
        return [found[each] for each in serials]

    def _product(self) -> dict[str, object]:
        return {
            "tenant_id": self.pipeline.tenant_id,
            "battery_product_id": self.product.battery_product_id,
        }


def _pages(serials: Sequence[str]) -> Iterator[list[str]]:
    return (list(serials[at : at + _PAGE]) for at in range(0, len(serials), _PAGE))


def _check(serials: Sequence[str], leave: Leave) -> None:
    if not 0 < len(serials) <= MOST:
        raise Permanent(Code.VALIDATION_ERROR, f"{len(serials)} serials: 1 to {MOST} at a time")
    problems = []
    for serial in () if leave.set_82 else serials:
        try:
            check_plain(serial)
        except SerialError as error:
            problems.append(str(error))
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        listed = "; ".join(problems[:_MOST_PROBLEMS])
        hint = "take others, or --set-82 for all that GS1 allows"
        raise Permanent(Code.VALIDATION_ERROR, f"{listed}{more}: {hint}")


def _warnings(host: str, passports: Sequence[Passport], limit: int) -> list[str]:
    longer = [each.unique_identifier for each in passports if len(each.unique_identifier) > limit]
    said = [STAND_IN] if host == STAND_IN_HOST else []
    if longer:
        most = max(map(len, longer))
        said.append(
            f"{len(longer)} of the identifiers are longer than the EU registry takes ({limit}), by up to "
            f"{most - limit}: it will not take them"
        )
    return said


def _countable(pair: tuple[str, str], product: Product) -> str:
    first, second = pair
    seen = " and open the page of every battery" if product.gtin is not None else ""
    return (
        f"these serials count up ({first}, {second}): strangers can read production numbers from them{seen}; "
        "`bpc-worker serials make` draws some that tell nothing"
    )


def _named(serials: Sequence[str]) -> str:
    return ", ".join(serials[:_MOST_PROBLEMS]) + (" …" if len(serials) > _MOST_PROBLEMS else "")
