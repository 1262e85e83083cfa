"""Builds as people look for them: the list, and one with its stages, its jobs and what stopped it."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from bpc_worker.domain.builds import STEPS
from bpc_worker.domain.states import BuildStatus, DocumentStatus
from bpc_worker.jobs.model import Status
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of, one


class ListedBuild(msgspec.Struct, frozen=True, kw_only=True):
    build_id: UUID
    passport_id: UUID
    serial: str
    product: str
    unique_identifier: str
    state: BuildStatus
    rules: str
    law_date: date
    passport_version_id: UUID | None
    created_at: datetime
    finished_at: datetime | None
    errors: int


class BuildError(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, and where; `document`: the file, where it is one's."""

    message: str
    where: str = ""
    document: str | None = None


class DocumentError(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    where: str = ""


class BuildDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`status`: WAITING as long as no job has taken it up."""

    file: str
    kind: str
    status: str
    document_version_id: UUID | None
    sha256: str
    errors: list[DocumentError]


class BuildJob(msgspec.Struct, frozen=True, kw_only=True):
    file: str | None
    job_id: UUID
    type: str
    status: Status
    attempts: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    fail_code: str | None
    fail_reason: str | None


class StageState(StrEnum):
    DONE = "done"
    NOW = "now"
    STOPPED = "stopped"
    NOT_YET = "not_yet"


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    stage: BuildStatus
    state: StageState
    jobs: list[BuildJob]


class _Shown(msgspec.Struct, frozen=True, kw_only=True):
    build_id: UUID
    passport_id: UUID
    serial: str
    product: str
    unique_identifier: str
    state: BuildStatus
    rules: str
    law_date: date
    snapshot_id: UUID | None
    passport_version_id: UUID | None
    created_at: datetime
    finished_at: datetime | None
    errors: list[BuildError]
    documents: list[BuildDocument]


class ShownBuild(_Shown, frozen=True, kw_only=True):
    stages: list[Stage]


async def list_builds(
    pipeline: PipelineSession,
    *,
    state: str | None = None,
    passport_id: UUID | None = None,
    after: UUID | None = None,
    limit: int = 1000,
) -> list[ListedBuild]:
    """Newest first; `after`: the last one of an earlier list."""
    return await pipeline.rows(
        "builds/list", ListedBuild, state=state, passport_id=passport_id, after=after, limit=limit
    )


async def show_build(pipeline: PipelineSession, build_id: UUID) -> ShownBuild:
    async with pipeline.reading() as tx:
        params: Mapping[str, object] = {"tenant_id": pipeline.tenant_id, "build_id": build_id}
        shown = one(await tx.query("builds/show", params), _Shown, "build")
        jobs = all_of(await tx.query("builds/jobs", params), BuildJob)
    return ShownBuild(
        **{name: getattr(shown, name) for name in shown.__struct_fields__}, stages=[*_stages(shown, jobs)]
    )


def _stages(build: _Shown, jobs: list[BuildJob]) -> Iterator[Stage]:
    """In their order. Where a build was stopped is the first stage of which nothing was made."""
    at = _place(build)
    for number, (stage, step) in enumerate(STEPS.items()):
        types = {step.job_type, "PARSE_FACTS"} if stage is BuildStatus.DOCUMENTS else {step.job_type}
        here = StageState.STOPPED if build.state is BuildStatus.STOPPED else StageState.NOW
        state = StageState.DONE if number < at else here if number == at else StageState.NOT_YET
        yield Stage(stage=stage, state=state, jobs=[each for each in jobs if each.type in types])


def _place(build: _Shown) -> int:
    stages = list(STEPS)
    if build.state is BuildStatus.DONE:
        return len(stages)
    if build.state is not BuildStatus.STOPPED:
        return stages.index(build.state)
    if build.snapshot_id is None or any(each.status == DocumentStatus.REJECTED for each in build.documents):
        return stages.index(BuildStatus.DOCUMENTS)
    return stages.index(BuildStatus.COMPILE if build.passport_version_id is None else BuildStatus.SIGN)
