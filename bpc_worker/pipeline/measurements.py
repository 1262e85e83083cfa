"""What was measured of a battery, all of it: versions say the last of each name."""

import csv
from collections.abc import Sequence
from io import StringIO
from uuid import UUID

import msgspec

from bpc_worker.documents.model import Rejected
from bpc_worker.documents.parse import parse_document
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.documents import Registered, Upload, register_document
from bpc_worker.pipeline.items import take
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.passports import FoundPassport, find_passport
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of


class Measurement(msgspec.Struct, frozen=True):
    name: str
    value: str
    measured_at: str
    source: str
    document: str
    pointer: str  # its cell


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value, in the words of the vocabulary and in its unit."""

    name: str
    value: str
    measured_at: str
    source: str


async def add_measurements(
    pipeline: OneTransaction, passport_id: UUID, told: Sequence[Measured], *, key: str | None = None
) -> Registered:
    """Kept as a document of their own; the battery has them once a worker has read it."""
    async with pipeline.transaction() as tx:
        found = await find_passport(pipeline, tx, str(passport_id))
        sent = await register_document(pipeline, _table(found, told), idempotency_key=key)
        await take(pipeline, tx, [found], sent.document_version_id)
        return sent


def _table(passport: FoundPassport, told: Sequence[Measured]) -> Upload:
    """As a list of one battery; what a worker would refuse is refused at once."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("serial", "name", "value", "measured_at", "source"))
    rows.writerows((passport.serial, each.name, each.value, each.measured_at, each.source) for each in told)
    upload = Upload(
        content=text.getvalue().encode(),
        kind="MEASUREMENTS",
        mime_type="text/csv",
        external_ref=f"measurements of {passport.passport_id}",
    )
    parsed = parse_document(upload.content, upload)
    if isinstance(parsed, Rejected):
        listed = "; ".join(f"{each.where}: {each.message}".removeprefix(": ") for each in parsed.problems)
        raise Permanent(parsed.code, listed)
    return upload


async def measured(
    pipeline: PipelineSession, passport: str, *, name: str | None = None, limit: int = 1000
) -> list[Measurement]:
    """Newest first."""
    async with pipeline.reading() as tx:
        found = await find_passport(pipeline, tx, passport)
        params = {"tenant_id": pipeline.tenant_id, "passport_id": found.passport_id, "name": name}
        return all_of(await tx.query("items/measured", params | {"limit": limit}), Measurement)
