"""The steps of a passport build: each is taken in the transaction of the job that made it possible.

Whoever takes one holds the build's row first, so that two jobs that end at the same moment see each other.
"""

from dataclasses import dataclass
from typing import Literal, NoReturn
from uuid import UUID

import msgspec

from bpc_worker.domain.events import Happened, of_job, record, tell
from bpc_worker.domain.records import Build
from bpc_worker.domain.states import BuildStatus
from bpc_worker.handler_api import Code, Context, NewJob, Permanent, Tx
from bpc_worker.rows import one, value


@dataclass(frozen=True, slots=True)
class Step:
    """What happens while a build is in one state."""

    job_type: str  # the job that takes the step
    about: Literal["snapshot_id", "passport_version_id"] | None  # it counts if it is about this of the build
    next: BuildStatus  # where the build stands afterwards


STEPS = {
    BuildStatus.DOCUMENTS: Step("INGEST_DOCUMENT", None, BuildStatus.SNAPSHOT),  # and the last PARSE_FACTS
    BuildStatus.SNAPSHOT: Step("BUILD_SNAPSHOT", "snapshot_id", BuildStatus.COMPILE),
    BuildStatus.COMPILE: Step("COMPILE_PASSPORT", "snapshot_id", BuildStatus.SIGN),
    BuildStatus.SIGN: Step("SIGN_PASSPORT", "passport_version_id", BuildStatus.QR),
    BuildStatus.QR: Step("GENERATE_QR", "passport_version_id", BuildStatus.DONE),
}
ENDED = frozenset({BuildStatus.DONE, BuildStatus.STOPPED})


def waits_for(build: Build, step: BuildStatus, about: UUID | None = None) -> bool:
    """Whether this very step comes next. A build that was stopped there goes on when somebody fixed it."""
    column = STEPS[step].about
    is_about_it = column is None or getattr(build, column) == about
    return build.state in {step, BuildStatus.STOPPED} and is_about_it


async def finish(
    tx: Tx, build: Build | None, step: BuildStatus, about: UUID | None = None, **made: UUID
) -> None:
    """It was taken: the build goes on to the next, with what was made, if this is what it waited for."""
    if build is not None and waits_for(build, step, about):
        await move(tx, build, STEPS[step].next, **made)


async def move(tx: Tx, build: Build, state: BuildStatus, **made: UUID) -> None:
    nothing: dict[str, object] = {"snapshot_id": None, "passport_version_id": None}
    await tx.query("builds/move", _params(build) | {"state": state} | nothing | made)


async def hold(tx: Tx, build_id: UUID | None, tenant_id: UUID) -> Build | None:
    """The build, held until the transaction ends; None for a job that belongs to none."""
    if build_id is None:
        return None
    rows = await tx.query("builds/lock", {"build_id": build_id, "tenant_id": tenant_id})
    return one(rows, Build, "build")


async def take_document(tx: Tx, build: Build, external_ref: str, document_version_id: UUID) -> bool:
    """The build has this version of that document from now on; False when it wants other bytes by now."""
    params = _params(build) | {"external_ref": external_ref, "document_version_id": document_version_id}
    if not waits_for(build, BuildStatus.DOCUMENTS):
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


class _Progress(msgspec.Struct, frozen=True):
    waiting: int
    rejected: int


async def documents_done(tx: Tx, build: Build, *, actor_id: str) -> None:
    """When the last document is validated: the snapshot over the build's facts, and the job that seals it."""
    progress = one(await tx.query("builds/progress", _params(build)), _Progress, "build")
    if not waits_for(build, BuildStatus.DOCUMENTS) or progress.waiting:
        return
    if progress.rejected:
        await stop_rejected(tx, build, actor_id=actor_id)
        return
    made = value(await tx.query("builds/make_snapshot", {"tenant_id": build.tenant_id}), UUID)
    await tx.query("builds/fill_snapshot", _params(build) | {"snapshot_id": made})
    await finish(tx, build, BuildStatus.DOCUMENTS, snapshot_id=made)
    await tx.enqueue(
        NewJob(
            type=STEPS[BuildStatus.SNAPSHOT].job_type,
            payload={
                "snapshot_id": str(made),
                "seal": True,
                "passport_id": str(build.passport_id),
                "build_id": str(build.build_id),
            },
            idempotency_key=str(made),
        )
    )


async def stop_rejected(tx: Tx, build: Build | None, *, actor_id: str) -> None:
    """Stop it with all that is wrong with its documents."""
    if build is not None and waits_for(build, BuildStatus.DOCUMENTS):
        await tx.query("builds/stop_rejected", _params(build))
        await _tell_stopped(tx, build, BuildStatus.DOCUMENTS, Code.VALIDATION_ERROR, actor_id)


async def stop(
    tx: Tx, build: Build, step: BuildStatus, error: Permanent, *, actor_id: str, words: str | None = None
) -> None:
    """Nothing more happens to it until somebody fixes what is said: the error, or more about it."""
    errors = msgspec.json.encode([{"where": error.code, "message": words or error.message}]).decode()
    await tx.query("builds/stop", _params(build) | {"errors": errors})
    await _tell_stopped(tx, build, step, error.code, actor_id)


async def _tell_stopped(tx: Tx, build: Build, step: BuildStatus, code: str, actor_id: str) -> None:
    """Unless it had stopped before. Without the words: they may quote a document."""
    if build.state == BuildStatus.STOPPED:
        return
    happened = Happened(
        event_type="BUILD_STOPPED",
        aggregate_type="build",
        aggregate_id=build.build_id,
        payload={"passport_id": str(build.passport_id), "step": step, "code": code},
    )
    await record(tx, happened, tenant_id=build.tenant_id, actor_id=actor_id)


async def give_up(
    ctx: Context,
    build_id: UUID | None,
    error: Permanent,
    step: BuildStatus,
    about: UUID | None = None,
    *happened: Happened,
    words: str | None = None,
) -> NoReturn:
    """The job fails for good, and its build stops, if it waited for this very step.

    The words are for the build alone, where they may quote a document; without any, it has the error's.
    """

    async def write(tx: Tx) -> None:
        build = await hold(tx, build_id, ctx.job.tenant_id)
        if build is not None and waits_for(build, step, about):
            await stop(tx, build, step, error, actor_id=of_job(ctx.job), words=words)
        await tell(tx, ctx.job, *happened)

    await ctx.reject(write, error)


def compile_job(build: Build, snapshot_id: UUID) -> NewJob:
    return NewJob(
        type=STEPS[BuildStatus.COMPILE].job_type,
        payload={
            "passport_id": str(build.passport_id),
            "snapshot_id": str(snapshot_id),
            "rule_package_version_id": str(build.rule_package_version_id),
            "law_date": build.law_date.isoformat(),
            "build_id": str(build.build_id),
        },
        idempotency_key=f"{build.build_id} {snapshot_id}",
    )


def version_job(step: BuildStatus, passport_version_id: UUID, build_id: UUID | None) -> NewJob:
    """That signs or draws a version: of a build, or of none."""
    return NewJob(
        type=STEPS[step].job_type,
        payload={
            "passport_version_id": str(passport_version_id),
            "build_id": None if build_id is None else str(build_id),
        },
        idempotency_key=f"{passport_version_id} {build_id or ''}".strip(),
    )


def _params(build: Build) -> dict[str, object]:
    return {"build_id": build.build_id, "tenant_id": build.tenant_id}
