"""Watch a passport build until it ends, one of its jobs gives up, or patience does."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from uuid import UUID

import msgspec

from bpc_worker.pipeline.builds.start import BuildState, build_state
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.waiting.polling import poll

_LOOKS_PER_SECOND = 5


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
        return self.state.ended


async def watch(
    pipeline: PipelineSession, build_id: UUID, *, seconds: float, looked: Callable[[BuildState], None]
) -> Watched:
    """How it ended, or how it stands after `seconds`; `looked` is told of every look."""
    known = {each.job_id for each in await troubles(pipeline, build_id)}  # of an earlier try
    looks = count()

    async def look() -> Watched:
        found: list[Trouble] = []
        if next(looks) % _LOOKS_PER_SECOND == 0:  # before the state: what stops a build fails its job as well
            found = [each for each in await troubles(pipeline, build_id) if each.job_id not in known]
        state = await build_state(pipeline, build_id)
        looked(state)
        return Watched(state, [] if state.ended else found)

    seen = await poll(look, until=lambda each: each.ended or bool(each.troubles), seconds=seconds)
    if seen.ended or seen.troubles:
        return seen
    return Watched(seen.state, await troubles(pipeline, build_id))


async def troubles(pipeline: PipelineSession, build_id: UUID) -> list[Trouble]:
    return await pipeline.rows("builds/troubles", Trouble, correlation_id=str(build_id))
