"""Another version of what is known of a battery now: at placing on the market, after a change, on request."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

import msgspec

from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId
from bpc_worker.pipeline.documents import find_document
from bpc_worker.pipeline.items import seal_job, take
from bpc_worker.pipeline.passports import FoundPassport, find_passport
from bpc_worker.pipeline.products import find_product
from bpc_worker.pipeline.rules import published_rules
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import maybe


class _Newest(msgspec.Struct, frozen=True):
    rules: str
    law_date: date


@again
async def renew(
    pipeline: PipelineSession,
    passport: str,
    *,
    rules: str | None = None,
    law_date: date | None = None,
    documents: Sequence[str] = (),
) -> JobId:
    """Queue its snapshot and its version; the rules by name and the law date are those of the last one,
    unless others are given. The documents are the battery's from now on.
    """
    async with pipeline.transaction() as tx:
        found = await find_passport(pipeline, tx, passport)
        product = await find_product(pipeline, tx, found.product)
        await take_former(pipeline, tx, found)
        for wanted in documents:
            document = await find_document(pipeline, tx, wanted)
            await take(pipeline, tx, [found], document.document_version_id)
        versions = await _versions(pipeline, tx, found, rules, law_date)
        return await tx.enqueue(seal_job(product, [found], versions))


async def take_former(pipeline: PipelineSession, tx: Tx, passport: FoundPassport) -> None:
    """A passport that was built from a folder goes on with the documents of its newest version."""
    params = {"tenant_id": pipeline.tenant_id, "passport_id": passport.passport_id}
    await tx.query("items/take_former", params)


async def _versions(
    pipeline: PipelineSession, tx: Tx, passport: FoundPassport, rules: str | None, law_date: date | None
) -> tuple[UUID, date]:
    params = {"tenant_id": pipeline.tenant_id, "passport_id": passport.passport_id}
    last = maybe(await tx.query("passports/newest_made", params), _Newest)
    name = rules or (None if last is None else last.rules)
    day = law_date or (None if last is None else last.law_date)
    if name is None or day is None:
        hint = "say by which rules and the law of which day, with --rules and --law-date"
        raise Permanent(Code.VALIDATION_ERROR, f"{passport.serial} has no version yet; {hint}")
    return (await published_rules(pipeline, tx, name)).rule_package_version_id, day
