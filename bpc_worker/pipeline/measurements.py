"""What was measured of a battery, all of it: versions say the last of each name."""

import msgspec

from bpc_worker.pipeline.passports import find_passport
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of


class Measurement(msgspec.Struct, frozen=True):
    name: str
    value: str
    measured_at: str
    source: str
    document: str
    pointer: str  # its cell


async def measured(
    pipeline: PipelineSession, passport: str, *, name: str | None = None, limit: int = 1000
) -> list[Measurement]:
    """Newest first."""
    async with pipeline.reading() as tx:
        found = await find_passport(pipeline, tx, passport)
        params = {"tenant_id": pipeline.tenant_id, "passport_id": found.passport_id, "name": name}
        return all_of(await tx.query("items/measured", params | {"limit": limit}), Measurement)
