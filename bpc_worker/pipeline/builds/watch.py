"""Watch a passport build until it ends, one of its jobs gives up, or patience does."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import msgspec

from bpc_worker.pipeline.builds.start import BuildState, build_state
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of

_LOOK_SECONDS = 0.2
_LOOKS_PER_SECOND = 5
_ENDED = frozenset({"DONE", "STOPPED"})


class Trouble(msgspec.Struct, frozen=True):
    """A job of the build that nobody runs again by itself."""

    job_id: UUID
    type: str
    status: str
    fail_code: str | None
    fail_reason: str | None


@dataclass(frozen=True, slots=True)
class Watched:
    state: BuildState
    troubles: list[Trouble]  # empty when the build has ended

    @property
    def ended(self) -> bool:
        return self.state.state in _ENDED


async def watch(
    pipeline: PipelineSession, build_id: UUID, *, seconds: float, looked: Callable[[BuildState], None]
) -> Watched:
    """How it ended, or how it stands after `seconds`; `looked` is told of every look."""
    clock = asyncio.get_running_loop().time
    ends_at = clock() + seconds
    known = {each.job_id for each in await troubles(pipeline, build_id)}  # of an earlier try
    looks = 0
    while True:
        found: list[Trouble] = []
        if looks % _LOOKS_PER_SECOND == 0:  # before the state: what stops a build fails its job as well
            found = [each for each in await troubles(pipeline, build_id) if each.job_id not in known]
        state = await build_state(pipeline, build_id)
        looked(state)
        if state.state in _ENDED:
            return Watched(state, [])
        if found or clock() >= ends_at:
            return Watched(state, found or await troubles(pipeline, build_id))
        looks += 1
        await asyncio.sleep(min(_LOOK_SECONDS, max(0.0, ends_at - clock())))


async def troubles(pipeline: PipelineSession, build_id: UUID) -> list[Trouble]:
    async with pipeline.reading() as tx:
        params = {"tenant_id": pipeline.tenant_id, "correlation_id": str(build_id)}
        return all_of(await tx.query("builds/troubles", params), Trouble)
