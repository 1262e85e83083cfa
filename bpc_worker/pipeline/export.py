"""Hand passport versions out as files: what EXPORT_PASSPORT makes, at once and wherever they are wanted."""

from collections.abc import Callable, Sequence

from bpc_worker.domain.exporting import File, Format, Named, Wanted, exported, files_of
from bpc_worker.domain.stored import Row, StoredVersion
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.stored import read_version
from bpc_worker.postgres.again import again

Write = Callable[[Row, Sequence[File]], None]


async def export(pipeline: PipelineSession, wanted: str, form: Wanted, write: Write) -> list[Named]:
    """`write` has the files whole on disk when it returns; then they are told in the audit trail."""
    version = await read_version(pipeline, wanted)
    row, files = version.row, _files(version, form)
    write(row, files)
    return await tell(pipeline, row, form, files)


async def tell(pipeline: PipelineSession, row: Row, form: Wanted, files: Sequence[File]) -> list[Named]:
    """In the audit trail: they are handed out."""
    named = [Named.of(file, row.disclosure_seed) for file in files]
    await _tell(pipeline, row, form, named)
    return named


def _files(version: StoredVersion, form: Wanted) -> list[File]:
    if form.format is Format.LABEL:
        from bpc_worker.carrier.of_version import label_of  # fonts and PDF, which other formats do without

        return [label_of(version)]
    return files_of(version, form)


async def export_all(pipeline: PipelineSession, wanted: Sequence[str], form: Wanted, write: Write) -> None:
    """One after the other."""
    for each in wanted:
        await export(pipeline, each, form, write)


@again
async def _tell(pipeline: PipelineSession, row: Row, form: Wanted, named: list[Named]) -> None:
    async with pipeline.transaction() as tx:
        await pipeline.record(tx, exported(row.passport_id, row.passport_version_id, form, named))
