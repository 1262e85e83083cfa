"""The tables of the public door, filled with what was signed before they were there, or anew."""

from collections.abc import Callable
from uuid import UUID

from bpc_worker.core.passport.bundle import BundleError
from bpc_worker.core.passport.view_text import ViewError
from bpc_worker.domain.publishing import public_part, publish
from bpc_worker.domain.stored import read_stored
from bpc_worker.handler_api import Tx
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import as_uuid

_PAGE = 100
_FIRST = UUID(int=0)


async def refill(
    pipeline: PipelineSession, *, everything: bool = False, refused: Callable[[UUID, str], None]
) -> int:
    """How many signed versions were published: those that are missing, or every one.

    `refused` is told of each that is no view any more, and why: somebody has changed its bytes.
    """
    after, done = _FIRST, 0
    while True:
        async with pipeline.reading() as tx:
            page = await _page(pipeline, tx, after, everything=everything)
        if not page:
            return done
        for version_id in page:
            try:
                done += await _publish(pipeline, version_id)
            except (ViewError, BundleError) as error:
                refused(version_id, str(error))
        after = page[-1]


async def _page(pipeline: PipelineSession, tx: Tx, after: UUID, *, everything: bool) -> list[UUID]:
    params = {"tenant_id": pipeline.tenant_id, "after": after, "all": everything, "page": _PAGE}
    rows = await tx.query("public/unpublished", params)
    return [as_uuid(row["passport_version_id"]) for row in rows]


@again
async def _publish(pipeline: PipelineSession, version_id: UUID) -> bool:
    """Whether there is something of it for the public."""
    async with pipeline.transaction() as tx:
        version = await read_stored(tx, pipeline.tenant_id, version_id)
        part = public_part(version.view(), version.facts)
        if part is not None:
            await publish(tx, version_id, part)
        return part is not None
