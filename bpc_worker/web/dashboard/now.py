"""The page Now: per kind of job what waits, runs and died today; on top what needs a person."""

from datetime import datetime

import msgspec

from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.attention import Concern, Kind, Slots, concerns
from bpc_worker.web.dashboard.pace import Pace
from bpc_worker.web.dashboard.svg import Bars
from bpc_worker.web.dashboard.view import viewing
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts
from bpc_worker.wiring import sample_rules

MOST = 5001


class Line(msgspec.Struct, frozen=True):
    queue: str
    type: str
    waiting: str
    oldest: str
    running: str
    slots: str
    dead: str
    is_full: bool
    has_died: bool


class Now(msgspec.Struct, frozen=True):
    at: str
    concerns: list[Concern]
    lines: list[Line]
    waiting: str
    running: str
    dead: str
    pace: Bars | None
    per_minute: str


def patience(parts: Parts) -> dict[str, object]:
    """When a job is overdue, for queries."""
    rules = sample_rules(parts.settings)
    return {
        "types": list(rules.sla_factors),
        "factors": list(rules.sla_factors.values()),
        "factor_of_others": rules.sla_factor_of_others,
    }


async def show(parts: Parts, pace: Pace, request: Request) -> Answer:
    everything = request.identity.tenant_id is None
    async with viewing(parts, request) as view:
        kinds = await view.rows("kinds", Kind, tenant_id=view.tenant_id, most=MOST)
        slots = await view.rows("slots", Slots) if everything else []
        found = await concerns(view, kinds, slots, patience(parts))
    of = {(each.queue, each.type): each.slots for each in slots}
    minutes = pace.minutes if everything else []
    if everything:
        pace.wanted()
    return Page(
        "dashboard/now.html",
        Now(
            at=shown.stamp(view.now),
            concerns=found,
            lines=[_line(each, of.get((each.queue, each.type)), view.now) for each in kinds],
            waiting=_total([each.waiting for each in kinds]),
            running=shown.number(sum(each.running for each in kinds)),
            dead=shown.bounded(sum(each.dead for each in kinds), MOST),
            pace=pace.bars if everything else None,
            per_minute=shown.number(minutes[-2].n) if len(minutes) > 1 else "",
        ),
    )


def _total(counts: list[int]) -> str:
    more = "+" if any(each >= MOST for each in counts) else ""
    return f"{sum(min(each, MOST - 1) for each in counts):,}{more}"


def _line(kind: Kind, slots: int | None, now: datetime) -> Line:
    return Line(
        queue=kind.queue,
        type=kind.type,
        waiting=shown.bounded(kind.waiting, MOST),
        oldest=shown.since(now, kind.oldest_at),
        running=shown.number(kind.running),
        slots="" if slots is None else shown.number(slots),
        dead=shown.bounded(kind.dead, MOST),
        is_full=slots is not None and kind.running >= slots,
        has_died=kind.dead > 0,
    )
