"""A passport version as it is stored, found by whatever people call it."""

from bpc_worker.domain.stored import StoredVersion, read_stored
from bpc_worker.pipeline.passports import find_version
from bpc_worker.pipeline.session import PipelineSession


async def read_version(pipeline: PipelineSession, wanted: str) -> StoredVersion:
    """By its id; by the id of its passport, or by a serial number, the newest. Read in one view."""
    async with pipeline.reading() as tx:
        found = await find_version(pipeline, tx, wanted)
        return await read_stored(tx, pipeline.tenant_id, found.passport_version_id)
