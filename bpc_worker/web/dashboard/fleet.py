"""The page Fleet: who works, what runs, what is paused or limited, how the upkeep stands. For all tenants."""

from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.operator.pauses import Paused
from bpc_worker.operator.watch import Running, WorkerSeen
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.now import patience
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

_LEASES = 200


class WorkerLine(msgspec.Struct, frozen=True):
    id: str
    host: str
    release: str
    queues: str
    types: str
    slots: int
    runs: int
    since: str
    seen: str


class LeaseLine(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    owner: str
    stage: str
    runs: str
    left: str
    overdue: bool


class PauseLine(msgspec.Struct, frozen=True):
    kind: str
    name: str
    reason: str
    by: str
    since: str
    until: str


class _Limit(msgspec.Struct, frozen=True):
    key: str
    per_second: float
    burst: float
    tokens: float
    updated_at: datetime


class _Schedule(msgspec.Struct, frozen=True):
    name: str
    tick: datetime


class _Upkeep(msgspec.Struct, frozen=True):
    sampled_at: datetime
    queued: int
    began_at: datetime
    behind_since: datetime | None
    rests_until: datetime
    suspects_owner: str
    suspects_until: datetime


class Connections(msgspec.Struct, frozen=True):
    application: str
    login: str | None
    connections: int


class _Audit(msgspec.Struct, frozen=True):
    event_id: UUID
    occurred_at: datetime
    event_type: str
    tenant: str


class Named(msgspec.Struct, frozen=True):
    name: str
    value: str


class Fleet(msgspec.Struct, frozen=True):
    at: str
    workers: list[WorkerLine]
    leases: list[LeaseLine]
    pauses: list[PauseLine]
    limits: list[Named]
    schedules: list[Named]
    upkeep: list[Named]
    connections: list[Connections]
    audit: str
    audit_command: str


async def show(parts: Parts, request: Request) -> Answer:
    if request.identity.tenant_id is not None:
        raise Permanent(Code.FORBIDDEN, "the fleet works for all tenants: this needs a token for all of them")
    async with viewing(parts, request) as view:
        return Page("dashboard/fleet.html", await _fleet(parts, view))


async def _fleet(parts: Parts, view: View) -> Fleet:
    running = await view.reading.rows("operator/running", Running, page=_LEASES, **patience(parts))
    workers = await view.reading.rows("operator/workers", WorkerSeen)
    pauses = await view.reading.rows("operator/pauses", Paused)
    audit = await view.rows("fleet_audit", _Audit)
    newest = audit[0] if audit else None
    return Fleet(
        at=shown.stamp(view.now),
        workers=[_worker(each, running, view.now) for each in workers],
        leases=[_lease(each, view.now) for each in running],
        pauses=[_pause(each) for each in pauses],
        limits=[
            Named(each.key, f"{each.per_second:g}/s, {each.burst:g}")
            for each in await view.rows("fleet_limits", _Limit)
        ],
        schedules=[
            Named(each.name, shown.stamp(each.tick)) for each in await view.rows("fleet_schedules", _Schedule)
        ],
        upkeep=[named for each in await view.rows("fleet_upkeep", _Upkeep) for named in _upkeep(each)],
        connections=await view.rows("fleet_connections", Connections),
        audit="" if newest is None else f"{newest.event_type} {shown.stamp(newest.occurred_at)}",
        audit_command="" if newest is None else f"bpc-worker audit verify --tenant {newest.tenant}",
    )


def _worker(each: WorkerSeen, running: list[Running], now: datetime) -> WorkerLine:
    return WorkerLine(
        id=each.worker_id,
        host=f"{each.host} {each.pid}",
        release=each.release,
        queues=", ".join(each.queues),
        types=", ".join(each.types),
        slots=each.concurrency,
        runs=sum(job.lease_owner == each.worker_id for job in running),
        since=shown.since(now, each.started_at),
        seen=shown.since(now, each.seen_at),
    )


def _lease(each: Running, now: datetime) -> LeaseLine:
    return LeaseLine(
        job_id=each.job_id,
        type=each.type,
        owner=each.lease_owner,
        stage=each.stage or "",
        runs=shown.since(now, each.started_at),
        left=shown.span(each.lease_expires_at - now),
        overdue=each.overdue,
    )


def _pause(each: Paused) -> PauseLine:
    return PauseLine(
        kind=each.kind,
        name=each.tenant or each.name,
        reason=each.reason,
        by=each.paused_by,
        since=shown.stamp(each.paused_at),
        until=shown.stamp(each.expires_at),
    )


def _upkeep(each: _Upkeep) -> list[Named]:
    return [
        Named("sampled", f"{shown.stamp(each.sampled_at)}: {each.queued:,}"),
        Named("pruning", shown.stamp(each.behind_since) if each.behind_since else shown.stamp(each.began_at)),
        Named(
            "suspects",
            f"{each.suspects_owner} {shown.stamp(each.suspects_until)}" if each.suspects_owner else "",
        ),
    ]
