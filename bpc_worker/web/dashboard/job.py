"""The page of one job: how it stands and why, what happened to it, what it was asked, whom it belongs to."""

from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.operator.jobs import Reason
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.now import patience
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

_EVENTS, _RELATED = 200, 100
_ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "DEAD_LETTER"})
_DEAD = frozenset({"FAILED", "DEAD_LETTER"})
_TRACE_PARTS = 4


class JobDetail(msgspec.Struct, frozen=True):
    job_id: UUID
    tenant_id: UUID
    tenant: str
    type: str
    queue: str
    status: str
    priority: int
    attempts: int
    max_attempts: int
    snoozes: int
    created_at: datetime
    scheduled_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lease_owner: str | None
    lease_expires_at: datetime | None
    stage: str | None
    progress: str | None
    fail_code: str | None
    fail_reason: str | None
    last_error: str | None
    idempotency_key: str | None
    spec_hash: str | None
    expected_duration_ms: int | None
    parent_job_id: UUID | None
    correlation_id: str | None
    traceparent: str | None
    cancel_requested_at: datetime | None
    payload: str | None
    result: str | None


class _Event(msgspec.Struct, frozen=True):
    job_event_id: int
    at: datetime
    type: str
    data: str


class Relative(msgspec.Struct, frozen=True):
    steps: int  # below zero: it came out of this one
    job_id: UUID
    type: str
    status: str


class Related(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    status: str
    attempts: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    stage: str | None
    fail_code: str | None


class EventLine(msgspec.Struct, frozen=True):
    at: str
    type: str
    by: str
    data: str


class Moment(msgspec.Struct, frozen=True):
    """A place on the line from its making to its end."""

    what: str
    at: str
    after: str


class ReasonLine(msgspec.Struct, frozen=True):
    reason: str
    message: str
    until: str
    remedy: str


class Error(msgspec.Struct, frozen=True):
    code: str
    message: str
    detail: str


class JobPage(msgspec.Struct, frozen=True):
    at: str
    job: JobDetail
    moments: list[Moment]
    percent: str  # of its progress, as the handler told it
    doing: str
    reasons: list[ReasonLine]
    error: Error | None
    events: list[EventLine]
    above: list[Relative]
    below: list[Relative]
    related: list[Related]
    payload: str
    result: str
    is_masked: bool
    is_dead: bool
    is_over: bool
    trace_id: str


async def show(parts: Parts, request: Request) -> Answer:
    wanted = shown.uuid_or_none(request.path_args["id"])
    may_see = request.identity.may("values")
    async with viewing(parts, request) as view:
        found = await view.of_jobs("job", JobDetail, job_id=wanted) if wanted else []
        if not found:
            raise Permanent(Code.NOT_FOUND, "there is no such job")
        return Page("dashboard/job.html", await _page(parts, view, found[0], may_see=may_see))


async def _page(parts: Parts, view: View, job: JobDetail, *, may_see: bool) -> JobPage:
    wanted = {"job_id": job.job_id}
    events = await view.of_jobs("job_events", _Event, **wanted, limit=_EVENTS)
    family = await view.of_jobs("job_family", Relative, **wanted)
    of_it = {"correlation_id": job.correlation_id, "limit": _RELATED}
    related = await view.of_jobs("correlated", Related, **of_it) if job.correlation_id else []
    percent, doing = _progress(job.progress)
    return JobPage(
        at=shown.stamp(view.now),
        job=job,
        moments=_moments(job, view.now),
        percent=percent,
        doing=doing,
        reasons=[_reason(each) for each in await _reasons(parts, view, job)],
        error=_error(job.last_error, may_see=may_see),
        events=[_event(each, may_see=may_see) for each in events],
        above=[each for each in family if each.steps < 0][::-1],
        below=[each for each in family if each.steps > 0],
        related=[each for each in related if each.job_id != job.job_id],
        payload=(job.payload or "") if may_see else shown.masked(job.payload),
        result=(job.result or "") if may_see else shown.masked(job.result),
        is_masked=not may_see,
        is_dead=job.status in _DEAD,
        is_over=job.status in _ENDED,
        trace_id=_trace_id(job.traceparent),
    )


async def _reasons(parts: Parts, view: View, job: JobDetail) -> list[Reason]:
    params = {"job_id": job.job_id} | patience(parts)
    if view.tenant_id is None:
        return await view.reading.rows("operator/explain", Reason, **params)
    return await view.rows("own_explain", Reason, **params)


def _reason(each: Reason) -> ReasonLine:
    return ReasonLine(each.reason, each.message, shown.stamp(each.until), each.remedy)


def _moments(job: JobDetail, now: datetime) -> list[Moment]:
    """From its making on; of each, how long after the one before."""
    ended = job.status if job.status in _ENDED else ""
    found = [("made", job.created_at), ("due", job.scheduled_at), ("started", job.started_at)]
    found += [("cancel_requested", job.cancel_requested_at), (ended.lower(), job.finished_at)]
    known = sorted(((at, what) for what, at in found if at is not None and what), key=lambda each: each[0])
    lines, before = [], None
    for at, what in known:
        lines.append(Moment(what, shown.stamp(at), "" if before is None else f"+ {shown.span(at - before)}"))
        before = at
    if not ended and before is not None:
        lines.append(Moment("now", shown.stamp(now), f"+ {shown.span(now - before)}"))
    return lines


def _progress(text: str | None) -> tuple[str, str]:
    try:
        told = msgspec.json.decode(text or "null")
    except msgspec.DecodeError:
        return "", ""
    if not isinstance(told, dict):
        return "", ""
    percent, message = told.get("percent"), told.get("message")
    shown_percent = ""
    if isinstance(percent, int | float) and not isinstance(percent, bool):
        shown_percent = f"{min(max(percent, 0), 100):.0f}"
    return shown_percent, "" if message is None else str(message)


def _error(text: str | None, *, may_see: bool) -> Error | None:
    """Its detail may quote a document."""
    told = msgspec.json.decode(text) if text else None
    if not isinstance(told, dict):
        return None
    rest = {name: each for name, each in told.items() if name not in {"code", "message"}}
    detail = msgspec.json.format(msgspec.json.encode(rest), indent=4).decode() if rest else ""
    return Error(
        str(told.get("code", "")),
        str(told.get("message", "")),
        detail if may_see else shown.masked(detail or None),
    )


def _event(each: _Event, *, may_see: bool) -> EventLine:
    """Who and why show; of a payload that was mended only that it was."""
    data = msgspec.json.decode(each.data)
    told = data if isinstance(data, dict) else {}
    rest = {name: told[name] for name in told if name != "by"}
    if not may_see:
        rest = {name: shown.HIDDEN if name in {"payload", "value"} else each for name, each in rest.items()}
    text = ", ".join(
        f"{name} {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in rest.items()
        if value is not None
    )
    return EventLine(
        shown.stamp(each.at), each.type, str(told.get("by") or told.get("locked_by") or ""), text
    )


def _trace_id(traceparent: str | None) -> str:
    parts = (traceparent or "").split("-")
    return parts[1] if len(parts) == _TRACE_PARTS else ""
