"""Stop and let go on: a queue, a type of job, a tenant."""

from datetime import datetime

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.store import PauseKind
from bpc_worker.operator.session import Operator
from bpc_worker.rows import all_of


class Paused(msgspec.Struct, frozen=True):
    kind: PauseKind
    name: str
    tenant: str | None  # its name, where a tenant is paused
    reason: str
    paused_by: str
    paused_at: datetime
    expires_at: datetime | None


async def pause(operator: Operator, kind: PauseKind, name: str, reason: str, seconds: float | None) -> None:
    """Nothing of it is claimed; what runs goes on. `seconds` None: until somebody resumes it."""
    params = {
        "kind": kind.value,
        "name": await _key(operator, kind, name),
        "reason": reason,
        "seconds": seconds,
    }
    await operator.rows("pause", params)


async def resume(operator: Operator, kind: PauseKind, name: str) -> None:
    [row] = await operator.rows("resume", {"kind": kind.value, "name": await _key(operator, kind, name)})
    if not row["resumed"]:
        raise Permanent(Code.NOT_FOUND, f"{kind} {name!r} is not paused; see `bpc-worker pauses`")
    await operator.wake_workers()


async def pauses(operator: Operator) -> list[Paused]:
    return all_of(await operator.rows("pauses"), Paused)


async def _key(operator: Operator, kind: PauseKind, name: str) -> str:
    return str(await operator.tenant_id(name)) if kind is PauseKind.TENANT else name
