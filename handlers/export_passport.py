"""EXPORT_PASSPORT: versions as files in the export folder, whole or not there, told in the audit trail."""

import asyncio
from pathlib import Path
from typing import Annotated, NamedTuple
from uuid import UUID

import msgspec

from bpc_worker.domain.events import tell
from bpc_worker.domain.export_folder import steps_below, write_files
from bpc_worker.domain.exporting import File, Format, Named, Wanted, exported, files_of
from bpc_worker.domain.stored import StoredVersion, read_stored
from bpc_worker.handler_api import ChildTask, Code, Context, HandlerSpec, Payload, Permanent, Priority, Tx

_MOST = 1000
_TWO_HOURS = 7200.0
_NOBODY = UUID(int=0)

Versions = Annotated[list[UUID], msgspec.Meta(min_length=1, max_length=_MOST)]


class ExportPassport(Payload, frozen=True):
    format: Format
    passport_version_id: UUID | None = None
    passport_version_ids: Versions | None = None
    audience: str | None = None
    folder: str | None = None  # below the tenant's own

    def __post_init__(self) -> None:
        if (self.passport_version_id is None) == (self.passport_version_ids is None):
            raise ValueError("give passport_version_id or passport_version_ids")
        if len(set(self.versions)) < len(self.versions):
            raise ValueError("passport_version_ids names a version twice")
        steps_below(_NOBODY, self.folder)
        Wanted(format=self.format, audience=self.audience)

    @property
    def versions(self) -> list[UUID]:
        one = [] if self.passport_version_id is None else [self.passport_version_id]
        return self.passport_version_ids or one


class Request(msgspec.Struct, frozen=True):
    version: StoredVersion  # without its seed
    wanted: Wanted


class Response(msgspec.Struct, frozen=True):
    files: list[File]


class Exported(NamedTuple):
    passport_id: UUID
    passport_version_id: UUID
    files: list[Named]


def make(request: Request) -> Response:
    return Response(files_of(request.version, request.wanted))


MAKE = ChildTask(
    name="handlers.export_passport:MAKE",
    request=Request,
    response=Response,
    run=make,
    imports=("bpc_worker.domain.qr_image", "PIL.PngImagePlugin"),
)


async def handle(payload: ExportPassport, ctx: Context) -> None:
    """One version after the other, and nothing of one is kept for the next but what its files are called."""
    root = ctx.policy.export_folder
    if root is None:
        raise Permanent(Code.CONFIG_MISSING, "set export.folder (BPC_EXPORT_FOLDER) where workers run")
    wanted = Wanted(format=payload.format, audience=payload.audience)
    steps = steps_below(ctx.job.tenant_id, payload.folder)
    done: list[Exported] = []
    for version_id in payload.versions:
        ctx.stage("exporting", done=len(done), of=len(payload.versions))
        done.append(await _export(ctx, version_id, wanted, root, steps))
    await ctx.complete(
        lambda tx: _tell(tx, ctx, wanted, done),
        result={
            "folder": "/".join(steps),
            "files": [
                {"passport_version_id": str(each.passport_version_id)} | msgspec.to_builtins(file)
                for each in done
                for file in each.files
            ],
        },
    )


async def _export(ctx: Context, version_id: UUID, wanted: Wanted, root: Path, steps: list[str]) -> Exported:
    async with ctx.reading() as reading:
        version = await read_stored(reading, ctx.job.tenant_id, version_id)
    files = await _files(ctx, version, wanted)
    ctx.check_lease()
    await asyncio.to_thread(write_files, root, steps, files)
    seed = version.row.disclosure_seed
    return Exported(version.row.passport_id, version_id, [Named.of(file, seed) for file in files])


async def _files(ctx: Context, version: StoredVersion, wanted: Wanted) -> list[File]:
    """A label in a thread: nothing of it is evaluated, and fonts are files, which children do not read."""
    if wanted.format is Format.LABEL:
        from bpc_worker.carrier.of_version import label_of

        return [await asyncio.to_thread(label_of, version)]
    return (await ctx.child(MAKE, Request(version.without_secrets(), wanted))).files


async def _tell(tx: Tx, ctx: Context, wanted: Wanted, done: list[Exported]) -> None:
    await tell(
        tx,
        ctx.job,
        *(exported(each.passport_id, each.passport_version_id, wanted, each.files) for each in done),
    )


SPEC = HandlerSpec(
    job_type="EXPORT_PASSPORT",
    payload=ExportPassport,
    handle=handle,
    priority=Priority.LOW,
    timeout_seconds=_TWO_HOURS,
    child_tasks=(MAKE,),
)
