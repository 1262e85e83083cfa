"""What the buttons do: to one job, to those that were ticked, to all that match; and pauses."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.store import PauseKind
from bpc_worker.operator import acts, pauses
from bpc_worker.operator.session import Operator
from bpc_worker.web.bulk import acts as bulk
from bpc_worker.web.dashboard import dead
from bpc_worker.web.dashboard.view import viewing
from bpc_worker.web.layer.answers import Answer, Page, SeeOther
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

_MOST_TICKED = 500

Act = Callable[[Operator, UUID], Awaitable[object]]


class Ticked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a form with buttons sends; `back` is the page to show again."""

    job: list[UUID] = []
    back: str = "/"


class Mend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    value: str


class Many(dead.Confirm, frozen=True, forbid_unknown_fields=True, kw_only=True):
    before: datetime
    counted: int
    typed: str = ""


class Pause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["queue", "type", "tenant"]
    name: str
    reason: str
    minutes: str = ""


class Resume(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pause: str  # kind and name


ACTS: dict[str, Act] = {
    "retry": acts.retry,
    "discard": acts.discard,
    "cancel": acts.cancel,
    "replay": acts.replay,
}


def inside(path: str) -> str:
    """A page of ours: neither another address nor what a browser takes for one."""
    split = urlsplit(path)
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours and not split.scheme and not split.netloc else "/"


def job_id_of(request: Request) -> UUID:
    try:
        return UUID(request.path_args["id"])
    except ValueError:
        raise Permanent(Code.NOT_FOUND, "there is no such job") from None


async def one(parts: Parts, name: str, request: Request) -> Answer:
    job_id = job_id_of(request)
    async with parts.database.operator(request.identity) as operator:
        made = await ACTS[name](operator, job_id)
        await operator.wake_workers()
    return SeeOther(f"/jobs/{made if name == 'replay' else job_id}")


async def ticked(parts: Parts, name: str, request: Request) -> Answer:
    """Each by itself: one that somebody else was quicker with does not keep the others."""
    asked = request.given(Ticked)
    if len(asked.job) > _MOST_TICKED:
        raise Permanent(Code.VALIDATION_ERROR, f"{_MOST_TICKED} at a time: take all that match instead")
    async with parts.database.operator(request.identity) as operator:
        for job_id in asked.job:
            try:
                await ACTS[name](operator, job_id)
            except Permanent as error:
                if error.code not in {Code.FORBIDDEN, Code.NOT_FOUND}:
                    raise
        await operator.wake_workers()
    return SeeOther(inside(asked.back))


async def mend(parts: Parts, request: Request) -> Answer:
    """One place of the payload gets another value, and the job runs; what it was stands in its events."""
    asked, job_id = request.given(Mend), job_id_of(request)
    try:
        msgspec.json.decode(asked.value)
    except msgspec.DecodeError as error:
        raise Permanent(
            Code.VALIDATION_ERROR, f"the value is not JSON: {error}; a text stands in quotes"
        ) from None
    patch = acts.Patch(tuple(asked.path.strip().split(".")), asked.value)
    async with parts.database.operator(request.identity) as operator:
        await acts.retry(operator, job_id, patch)
        await operator.wake_workers()
    return SeeOther(f"/jobs/{job_id}")


async def many(parts: Parts, wake: Callable[[], None], request: Request) -> Answer:
    """As many as were counted, or fewer; where they are many, by somebody who has typed how many."""
    asked = request.given(Many)
    choice = dead.Choice(status=asked.status, type=asked.type, code=asked.code, fingerprint=asked.fingerprint)
    async with viewing(parts, request) as view:
        found = await dead.count(view, choice, asked.before)
    again = dead.confirmed(asked.act, choice, found.count, found.before, failed=True)
    if again.typed and asked.typed.replace(",", "").strip() != str(asked.counted):
        return Page("dashboard/confirm.html", again, status=422)
    if not again.count:
        return SeeOther("/dead")
    tenant = {"tenant_id": request.identity.tenant_id}
    wanted = choice.params | tenant | {"act": asked.act, "before": asked.before, "counted": found.count}
    async with parts.database.operator(request.identity) as operator:
        made = await bulk.ask(operator, wanted)
    wake()
    return SeeOther(f"/bulk/{made}")


async def stop_many(parts: Parts, request: Request) -> Answer:
    wanted = request.path_args["id"]
    try:
        bulk_act_id = UUID(wanted)
    except ValueError:
        raise Permanent(Code.NOT_FOUND, "there is no such act") from None
    async with parts.database.operator(request.identity) as operator:
        await bulk.stop(operator, bulk_act_id)
    return SeeOther(f"/bulk/{bulk_act_id}")


async def pause(parts: Parts, request: Request) -> Answer:
    asked = request.given(Pause)
    try:
        seconds = float(asked.minutes) * 60 if asked.minutes.strip() else None
    except ValueError:
        raise Permanent(Code.VALIDATION_ERROR, "the minutes are no number") from None
    async with parts.database.operator(request.identity) as operator:
        await pauses.pause(operator, PauseKind(asked.kind), asked.name, asked.reason, seconds)
    return SeeOther("/fleet")


async def resume(parts: Parts, request: Request) -> Answer:
    kind, _, name = request.given(Resume).pause.partition(" ")
    if kind not in [*PauseKind]:
        raise Permanent(Code.VALIDATION_ERROR, "a pause is of a queue, a type or a tenant")
    async with parts.database.operator(request.identity) as operator:
        await pauses.resume(operator, PauseKind(kind), name)
    return SeeOther("/fleet")
