"""The steps of a passport build: each is taken in the transaction of the job that made it possible.

Whoever takes one holds the build's row first, so that two jobs that end at the same moment see each other.
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import NoReturn
from uuid import UUID

import msgspec

from bpc_worker.handler_api import Context, NewJob, Permanent, Tx
from bpc_worker.rows import all_of, one


class Build(msgspec.Struct, frozen=True):
    build_id: UUID
    tenant_id: UUID
    passport_id: UUID
    rule_package_version_id: UUID
    law_date: date
    state: str
    snapshot_id: UUID | None
    passport_version_id: UUID | None


class _Progress(msgspec.Struct, frozen=True):
    waiting: int
    rejected: int


class _Made(msgspec.Struct, frozen=True):
    snapshot_id: UUID


async def hold(tx: Tx, build_id: UUID | None, tenant_id: UUID) -> Build | None:
    """The build, held until the transaction ends; None for a job that belongs to none."""
    if build_id is None:
        return None
    rows = await tx.query("builds/lock", {"build_id": build_id, "tenant_id": tenant_id})
    return one(rows, Build, "build")


async def take_document(tx: Tx, build: Build, external_ref: str, document_version_id: UUID) -> bool:
    """The build has this version of that document from now on; False when it wants other bytes by now."""
    params = _params(build) | {"external_ref": external_ref, "document_version_id": document_version_id}
    if not waits_for(build, "DOCUMENTS"):
        return False
    if await tx.query("builds/take_document", params):
        return True
    one(await tx.query("builds/expects", params), _Expected, f"document {external_ref!r} in the build")
    return False


class _Expected(msgspec.Struct, frozen=True):
    external_ref: str


async def has_document(tx: Tx, build: Build, document_version_id: UUID) -> bool:
    """Whether the build rests on it: a job that was about another version has nothing to say to it."""
    params = _params(build) | {"document_version_id": document_version_id}
    return bool(await tx.query("builds/has_document", params))


async def documents_done(tx: Tx, build: Build) -> None:
    """When the last document is validated: the snapshot over the build's facts, and the job that seals it."""
    progress = await _progress(tx, build)
    if not waits_for(build, "DOCUMENTS") or progress.waiting:
        return
    if progress.rejected:
        await stop_rejected(tx, build)
        return
    params = _params(build)
    [made] = all_of(await tx.query("builds/make_snapshot", {"tenant_id": build.tenant_id}), _Made)
    params["snapshot_id"] = made.snapshot_id
    await tx.query("builds/fill_snapshot", params)
    await move(tx, build, "SNAPSHOT", snapshot_id=made.snapshot_id)
    await tx.enqueue(
        NewJob(
            type="BUILD_SNAPSHOT",
            payload={"snapshot_id": str(made.snapshot_id), "seal": True, "build_id": str(build.build_id)},
            idempotency_key=str(made.snapshot_id),
        )
    )


async def _progress(tx: Tx, build: Build) -> _Progress:
    [progress] = all_of(await tx.query("builds/progress", _params(build)), _Progress)
    return progress


def waits_for(
    build: Build, state: str, *, snapshot_id: UUID | None = None, passport_version_id: UUID | None = None
) -> bool:
    """Whether this very step comes next. A build that was stopped there goes on when somebody mended it."""
    return (
        build.state in {state, "STOPPED"}
        and snapshot_id in {None, build.snapshot_id}
        and passport_version_id in {None, build.passport_version_id}
    )


async def stop_rejected(tx: Tx, build: Build | None) -> None:
    """Stop it with all that is wrong with its documents."""
    if build is not None and waits_for(build, "DOCUMENTS"):
        await tx.query("builds/stop_rejected", _params(build))


async def stop(tx: Tx, build: Build, errors: Sequence[object]) -> None:
    """Nothing more happens to it until somebody mends what is listed."""
    await tx.query("builds/stop", _params(build) | {"errors": msgspec.json.encode(errors).decode()})


async def give_up(
    ctx: Context, build_id: UUID | None, error: Permanent, waited: Callable[[Build], bool]
) -> NoReturn:
    """The job fails for good, and its build stops with the same words, if it waited for this very step."""

    async def write(tx: Tx) -> None:
        build = await hold(tx, build_id, ctx.job.tenant_id)
        if build is not None and waited(build):
            await stop(tx, build, [{"where": error.code, "message": error.message}])

    await ctx.reject(write, error)


async def move(
    tx: Tx,
    build: Build | None,
    state: str,
    *,
    snapshot_id: UUID | None = None,
    passport_version_id: UUID | None = None,
) -> None:
    if build is not None:
        made = {"snapshot_id": snapshot_id, "passport_version_id": passport_version_id}
        await tx.query("builds/move", _params(build) | {"state": state} | made)


def _params(build: Build) -> dict[str, object]:
    return {"build_id": build.build_id, "tenant_id": build.tenant_id}
