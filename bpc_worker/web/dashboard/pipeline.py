"""The page Pipeline: builds as rows of stages; one that stopped with its document and the cell, shown."""

from datetime import datetime
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from bpc_worker.domain.builds import STEPS
from bpc_worker.domain.states import BuildStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.dashboard import cells, shown
from bpc_worker.web.dashboard.cells import ShownPlace
from bpc_worker.web.dashboard.job import Related
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

PAGE, MOST = 50, 5001
_JOBS, _CELLS = 100, 8
STAGES = tuple(STEPS)


class BuildsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    state: Literal["", "DOCUMENTS", "SNAPSHOT", "COMPILE", "SIGN", "QR", "DONE", "STOPPED"] = ""
    after: str = ""


class _Counted(msgspec.Struct, frozen=True):
    state: str
    n: int


class Mistake(msgspec.Struct, frozen=True):
    where: str = ""
    message: str = ""
    document: str = ""


class _Build(msgspec.Struct, frozen=True, kw_only=True):
    build_id: UUID
    tenant: str
    state: str
    created_at: datetime
    finished_at: datetime | None
    snapshot_id: UUID | None
    passport_version_id: UUID | None
    errors: list[Mistake] | None
    passport_id: UUID
    serial: str
    product: str
    documents: int = 0
    read: int = 0
    rejected: int = 0


class Stage(msgspec.Struct, frozen=True):
    name: str
    how: str  # done, at, stopped, to_come
    more: str


class BuildLine(msgspec.Struct, frozen=True):
    build_id: UUID
    passport_id: UUID
    tenant: str
    serial: str
    product: str
    state: str
    stages: list[Stage]
    began: str
    took: str
    error: str


class StageCount(msgspec.Struct, frozen=True):
    state: str
    count: str
    is_any: bool


class Pipeline(msgspec.Struct, frozen=True):
    at: str
    counts: list[StageCount]
    builds: list[BuildLine]
    state: str
    more: str


async def show(parts: Parts, request: Request) -> Answer:
    asked = request.asked(BuildsQuery)
    may_see = request.identity.may("values")
    async with viewing(parts, request) as view:
        counts = await view.rows("builds_counted", _Counted, most=MOST)
        found = await view.rows(
            "builds",
            _Build,
            tenant_id=view.tenant_id,
            state=shown.or_none(asked.state),
            after=shown.uuid_or_none(asked.after),
            page=PAGE,
        )
    last = found[-1] if len(found) == PAGE else None
    record = Pipeline(
        at=shown.stamp(view.now),
        counts=[StageCount(each.state, shown.bounded(each.n, MOST), each.n > 0) for each in counts],
        builds=[_line(each, view.now, may_see=may_see) for each in found],
        state=asked.state,
        more="" if last is None else urlencode({"state": asked.state, "after": str(last.build_id)}),
    )
    return Page("dashboard/pipeline.html", record)


def _line(build: _Build, now: datetime, *, may_see: bool) -> BuildLine:
    first = build.errors[0] if build.errors else None
    return BuildLine(
        build_id=build.build_id,
        passport_id=build.passport_id,
        tenant=build.tenant,
        serial=build.serial,
        product=build.product,
        state=build.state,
        stages=_stages(build),
        began=shown.stamp(build.created_at),
        took=shown.span((build.finished_at or now) - build.created_at),
        error="" if first is None else _said(first, may_see=may_see),
    )


def _said(mistake: Mistake, *, may_see: bool) -> str:
    words = mistake.message if may_see else shown.unquoted(mistake.message)
    return ": ".join(each for each in (mistake.document, mistake.where, words) if each)


def _stages(build: _Build) -> list[Stage]:
    """Where it is; one that stopped is where the first thing is missing."""
    at = build.state
    if at == BuildStatus.STOPPED:
        at = _stopped_at(build)
    number = STAGES.index(BuildStatus(at)) if at in STAGES else len(STAGES)
    made = []
    for each, stage in enumerate(STAGES):
        how = "done" if each < number else "to_come"
        if each == number:
            how = "stopped" if build.state == BuildStatus.STOPPED else "at"
        more = f"{build.read}/{build.documents}" if stage is BuildStatus.DOCUMENTS and build.documents else ""
        made.append(Stage(stage.value, how, more))
    return made


def _stopped_at(build: _Build) -> str:
    if build.rejected or build.snapshot_id is None:
        return BuildStatus.DOCUMENTS
    return BuildStatus.COMPILE if build.passport_version_id is None else BuildStatus.SIGN


class _Document(msgspec.Struct, frozen=True):
    file: str
    kind: str
    status: str
    errors: list[Mistake] | None
    document_version_id: UUID | None
    mime_type: str
    number_format: str | None


class _Bytes(msgspec.Struct, frozen=True):
    content: bytes
    size: int


class Wrong(msgspec.Struct, frozen=True):
    where: str
    message: str
    place: ShownPlace | None


class DocumentLine(msgspec.Struct, frozen=True):
    file: str
    kind: str
    status: str
    document_version_id: UUID | None
    wrong: list[Wrong]
    further: int


class BuildPage(msgspec.Struct, frozen=True):
    at: str
    build: BuildLine
    passport_version_id: UUID | None
    documents: list[DocumentLine]
    errors: list[str]
    jobs: list[Related]
    may_see: bool
    command: str


async def show_build(parts: Parts, request: Request) -> Answer:
    wanted = shown.uuid_or_none(request.path_args["id"])
    may_see = request.identity.may("values")
    async with viewing(parts, request) as view:
        found = await view.rows("build", _Build, build_id=wanted) if wanted else []
        if not found:
            raise Permanent(Code.NOT_FOUND, "there is no such build")
        documents = await view.rows("build_documents", _Document, build_id=wanted)
        lines = [await _document(view, each, may_see=may_see) for each in documents]
        jobs = await view.of_jobs("correlated", Related, correlation_id=str(wanted), limit=_JOBS)
    build = msgspec.structs.replace(
        found[0],
        documents=len(documents),
        read=sum(each.status in {"VALIDATED", "REJECTED"} for each in documents),
        rejected=sum(each.status == "REJECTED" for each in documents),
    )
    record = BuildPage(
        at=shown.stamp(view.now),
        build=_line(build, view.now, may_see=may_see),
        passport_version_id=build.passport_version_id,
        documents=lines,
        errors=[_said(each, may_see=may_see) for each in build.errors or []],
        jobs=jobs,
        may_see=may_see,
        command=_command(lines),
    )
    return Page("dashboard/build.html", record)


def _command(documents: list[DocumentLine]) -> str:
    wrong = next((each.document_version_id for each in documents if each.wrong), None)
    return "" if wrong is None else f"bpc-worker document show {wrong}"


async def _document(view: View, document: _Document, *, may_see: bool) -> DocumentLine:
    mistakes = document.errors or []
    content = b""
    if mistakes and may_see and document.document_version_id is not None:
        params: dict[str, object] = {"document_version_id": document.document_version_id}
        [found] = await view.rows("document_bytes", _Bytes, **params, most=cells.MOST_BYTES) or [
            _Bytes(b"", 0)
        ]
        content = found.content if found.size <= cells.MOST_BYTES else b""
    return DocumentLine(
        file=document.file,
        kind=document.kind,
        status=document.status,
        document_version_id=document.document_version_id,
        wrong=[
            Wrong(
                each.where,
                each.message if may_see else shown.unquoted(each.message),
                cells.place(content, document.mime_type, each.where) if content else None,
            )
            for each in mistakes[:_CELLS]
        ],
        further=max(len(mistakes) - _CELLS, 0),
    )
