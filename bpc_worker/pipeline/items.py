"""Batteries of one product by the thousand: a document's rows to passports with snapshots of their own.

It goes page by page, each in a transaction of its own: whoever was killed begins again with the same command,
and what is done is found done.
"""

from collections.abc import Callable, Sequence
from datetime import date
from uuid import UUID

import msgspec

from bpc_worker.domain.records import Passport, Product
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob, Status
from bpc_worker.pipeline.documents import find_document
from bpc_worker.pipeline.identifiers import NO_LEAVE, Leave
from bpc_worker.pipeline.models import need_model
from bpc_worker.pipeline.products import find_product
from bpc_worker.pipeline.rules import published_rules
from bpc_worker.pipeline.serials import known_serials, page_of_serials
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import value

PAGE = 250  # batteries of one transaction, and of one job
_MOST_NAMED = 10
_GIVEN_UP = frozenset({Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED})


class Versions(msgspec.Struct, frozen=True):
    """That versions are to be made as well: by which rules, under the law of which day."""

    rules: str
    law_date: date


class Sealing(msgspec.Struct, frozen=True):
    """A job that makes snapshots, and of how many batteries."""

    job_id: UUID
    status: Status
    items: int
    fail_code: str | None
    fail_reason: str | None


class Progress(msgspec.Struct, frozen=True):
    jobs: list[Sealing]

    @property
    def sealed(self) -> int:
        return sum(each.items for each in self.jobs if each.status == Status.SUCCEEDED)

    @property
    def troubles(self) -> list[Sealing]:
        """Those that nobody runs again by himself."""
        return [each for each in self.jobs if each.status in _GIVEN_UP]

    @property
    def ended(self) -> bool:
        return all(each.status in _GIVEN_UP or each.status == Status.SUCCEEDED for each in self.jobs)


class Size(msgspec.Struct, frozen=True):
    """What lies in a table for the batteries of a document."""

    of: str
    rows: int
    bytes: int | None


class Page(msgspec.Struct, frozen=True):
    after: str  # the last serial of it
    serials: int
    job_id: JobId | None


async def take_list(
    pipeline: PipelineSession,
    product: str,
    document: str,
    *,
    versions: Versions | None = None,
    leave: Leave = NO_LEAVE,
    looked: Callable[[int], None] = lambda _: None,
) -> list[JobId]:
    """Every battery that the list names gets its passport, and a job makes its snapshot; the jobs."""
    jobs: list[JobId] = []
    after, version_id = "", await _version(pipeline, document)
    while (
        page := await _take_page(pipeline, product, version_id, after, versions, leave)
    ).job_id is not None:
        after = page.after
        jobs.append(page.job_id)
        looked(page.serials)
    return jobs


@again
async def _take_page(
    pipeline: PipelineSession,
    product: str,
    version_id: UUID,
    after: str,
    versions: Versions | None,
    leave: Leave,
) -> Page:
    async with pipeline.transaction() as tx:
        found = await find_product(pipeline, tx, product)
        model = await need_model(pipeline, tx, found.battery_product_id, product)
        serials = await _named(pipeline, tx, version_id, after)
        if not serials:
            return Page(after, 0, None)
        passports = await page_of_serials(pipeline, tx, found, serials, leave)
        await take(pipeline, tx, passports, version_id)
        rules = None if versions is None else await published_rules(pipeline, tx, versions.rules)
        key = f"{version_id} {model} {after}"
        if versions is None or rules is None:
            job = seal_job(found, passports, key=key)
        else:
            wanted = (rules.rule_package_version_id, versions.law_date)
            job = seal_job(found, passports, wanted, key=key)
        return Page(serials[-1], len(serials), await tx.enqueue(job))


async def take_measurements(
    pipeline: PipelineSession, product: str, document: str, looked: Callable[[int], None] = lambda _: None
) -> int:
    """How many batteries have taken what was measured of them; versions that are there stay as they are."""
    after, count, version_id = "", 0, await _version(pipeline, document)
    while (page := await _take_measured(pipeline, product, version_id, after)).serials:
        after, count = page.after, count + page.serials
        looked(page.serials)
    return count


@again
async def _take_measured(pipeline: PipelineSession, product: str, version_id: UUID, after: str) -> Page:
    async with pipeline.transaction() as tx:
        found = await find_product(pipeline, tx, product)
        serials = await _named(pipeline, tx, version_id, after)
        passports = await known_serials(pipeline, tx, found, serials)
        unknown = sorted({*serials} - {each.serial for each in passports})
        if unknown:
            named = ", ".join(unknown[:_MOST_NAMED]) + (" …" if len(unknown) > _MOST_NAMED else "")
            hint = "`bpc-worker serials list` shows them; correct the file, or name another product"
            raise Permanent(Code.NOT_FOUND, f"{product} has no batteries {named}; {hint}")
        await take(pipeline, tx, passports, version_id)
        return Page(serials[-1] if serials else after, len(serials), None)


async def _version(pipeline: PipelineSession, document: str) -> UUID:
    async with pipeline.reading() as tx:
        return (await find_document(pipeline, tx, document)).document_version_id


async def _named(pipeline: PipelineSession, tx: Tx, version_id: UUID, after: str) -> list[str]:
    """The next batteries that a document names."""
    params = {"tenant_id": pipeline.tenant_id, "document_version_id": version_id}
    rows = await tx.query("items/named", params | {"after": after, "limit": PAGE})
    return [str(row["item"]) for row in rows]


async def take(
    pipeline: PipelineSession, tx: Tx, passports: Sequence[Passport], document_version_id: UUID
) -> None:
    """From now on the document tells of these batteries."""
    params = {
        "tenant_id": pipeline.tenant_id,
        "document_version_id": document_version_id,
        "passport_ids": [each.passport_id for each in passports],
    }
    await tx.query("items/take", params)


def seal_job(
    product: Product,
    passports: Sequence[Passport],
    versions: tuple[UUID, date] | None = None,
    *,
    key: str | None = None,
) -> NewJob:
    """Makes snapshots of what is known when it runs; with rules and a law date, versions too."""
    payload: dict[str, object] = {
        "battery_product_id": str(product.battery_product_id),
        "passport_ids": [str(each.passport_id) for each in passports],
    }
    if versions is None:
        return NewJob(type="SEAL_ITEMS", payload=payload, idempotency_key=key)
    rules, law_date = versions
    payload |= {"rule_package_version_id": str(rules), "law_date": law_date.isoformat()}
    more = None if key is None else f"{key} {rules} {law_date}"
    return NewJob(type="SEAL_ITEMS", payload=payload, idempotency_key=more)


async def sealing(pipeline: PipelineSession, jobs: Sequence[JobId]) -> Progress:
    return Progress(await pipeline.rows("items/jobs", Sealing, job_ids=list(jobs)))


async def count_items(pipeline: PipelineSession, document: str) -> int:
    """How many batteries a document names."""
    params = {"tenant_id": pipeline.tenant_id, "document_version_id": await _version(pipeline, document)}
    async with pipeline.reading() as tx:
        return value(await tx.query("items/count", params), int)


async def sizes(pipeline: PipelineSession, document: str) -> list[Size]:
    """By table."""
    version_id = await _version(pipeline, document)
    return await pipeline.rows("items/sizes", Size, document_version_id=version_id)
