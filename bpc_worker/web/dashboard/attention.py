"""What needs a person, with the command to paste: the worst on top."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from shlex import quote
from uuid import UUID

import msgspec

from bpc_worker.operator.pauses import Paused
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.view import View

_SHOWN = 5


class Concern(msgspec.Struct, frozen=True):
    """`what` names the sentence; the page has it in the reader's language."""

    what: str
    about: str
    detail: str = ""
    command: str = ""
    link: str = ""


class Kind(msgspec.Struct, frozen=True):
    queue: str
    type: str
    waiting: int
    oldest_at: datetime | None
    running: int
    dead: int


class Slots(msgspec.Struct, frozen=True):
    queue: str
    type: str
    slots: int


class _Overdue(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    lease_owner: str
    seconds: float | None
    overdue: bool


class _Stopped(msgspec.Struct, frozen=True):
    build_id: UUID
    serial: str
    errors: list[dict[str, object]] | None
    created_at: datetime


class _Endpoint(msgspec.Struct, frozen=True):
    webhook_endpoint_id: UUID
    tenant: str
    status: str
    failing_since: datetime | None
    disabled_reason: str | None


async def concerns(
    view: View, kinds: Sequence[Kind], slots: Sequence[Slots], patience: dict[str, object]
) -> list[Concern]:
    found: list[Concern] = []
    if view.tenant_id is None:
        found += _unhandled(view, kinds, slots)
        found += [_paused(each) for each in await view.reading.rows("operator/pauses", Paused)]
        found += await _overdue(view, patience)
    found += await _endpoints(view)
    found += await _builds(view)
    return found


def _unhandled(view: View, kinds: Sequence[Kind], slots: Sequence[Slots]) -> Iterator[Concern]:
    served = {(each.queue, each.type) for each in slots}
    lost = [each for each in kinds if each.waiting and (each.queue, each.type) not in served]
    if lost and not served:
        yield Concern("no_worker", ", ".join(sorted({each.type for each in lost})), command="bpc-worker run")
        return
    for each in lost:
        yield Concern(
            "unhandled",
            each.type,
            detail=f"{each.queue}, {each.waiting}, {shown.since(view.now, each.oldest_at)}",
            command=f"BPC_WORKER_QUEUES={quote(each.queue)} bpc-worker run",
        )


def _paused(pause: Paused) -> Concern:
    name = pause.tenant or pause.name
    ends = "" if pause.expires_at is None else f" → {shown.stamp(pause.expires_at)}"
    return Concern(
        "paused",
        f"{pause.kind} {name}",
        detail=f"{pause.reason} ({pause.paused_by}, {shown.stamp(pause.paused_at)}{ends})",
        command=f"bpc-worker resume {pause.kind} {quote(name)}",
    )


async def _overdue(view: View, patience: dict[str, object]) -> list[Concern]:
    rows = await view.reading.rows("operator/running", _Overdue, page=1000, **patience)
    late = [each for each in rows if each.overdue]
    return [
        Concern(
            "overdue",
            each.type,
            detail=f"{each.lease_owner}, {round(each.seconds or 0):,} s",
            command=f"bpc-worker jobs explain {each.job_id}",
            link=f"/jobs/{each.job_id}",
        )
        for each in late[:_SHOWN]
    ]


async def _endpoints(view: View) -> list[Concern]:
    rows = await view.rows("endpoints_in_trouble", _Endpoint)
    return [
        Concern(
            "endpoint_disabled" if each.status == "DISABLED" else "endpoint_failing",
            f"{each.tenant} {each.webhook_endpoint_id}",
            detail=each.disabled_reason or shown.since(view.now, each.failing_since),
            command=(
                f"bpc-worker webhook {'enable' if each.status == 'DISABLED' else 'test'}"
                f" {each.webhook_endpoint_id} --tenant {quote(each.tenant)}"
            ),
            link="/webhooks",
        )
        for each in rows
    ]


async def _builds(view: View) -> list[Concern]:
    rows = await view.rows("builds_stopped", _Stopped, limit=_SHOWN)
    return [
        Concern("build_stopped", each.serial, detail=_first(each.errors), link=f"/builds/{each.build_id}")
        for each in rows
    ]


def _first(errors: list[dict[str, object]] | None) -> str:
    if not errors:
        return ""
    said = f"{errors[0].get('where', '')}: {errors[0].get('message', '')}"
    return said if len(errors) == 1 else f"{said} (+{len(errors) - 1})"
