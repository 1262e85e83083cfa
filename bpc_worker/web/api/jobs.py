"""Jobs, as whoever caused them wants to know them; and how many workers there is work for."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code
from bpc_worker.jobs.model import Status
from bpc_worker.pipeline.jobs import job_state
from bpc_worker.postgres.queue.job_states import JobState
from bpc_worker.rows import value
from bpc_worker.web.api.context import Api, id_of
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.preferences import wait_seconds
from bpc_worker.web.api.waiting import Awaited
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs


class JobError(msgspec.Struct, frozen=True):
    code: str
    message: str


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`result` and what goes with an error: for those who may see values."""

    job_id: UUID
    type: str
    status: Status
    attempts: int
    max_attempts: int
    due: bool
    last_error: JobError | None
    result: dict[str, Any] | None


class ScaleQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`slots`: how many jobs one worker runs at a time; without it as here."""

    slots: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None


class Scale(msgspec.Struct, frozen=True):
    """For an autoscaler, say KEDA's metrics-api: `$.workers`."""

    workers: int


@dataclass(frozen=True, slots=True)
class Jobs:
    api: Api

    def routes(self) -> list[ApiRoute]:
        return [
            ApiRoute("GET", "/v1/jobs/{id}", self.shown, needs("read"), answers=Job, about="Jobs",
                     says="How a job stands.", waits=True),
            ApiRoute("GET", "/v1/scale", self.scale, needs("scale"), query=ScaleQuery, answers=Scale,
                     says="How many workers there is work for, of all tenants.", about="Jobs"),
        ]  # fmt: skip

    async def shown(self, request: Request) -> Answer:
        job_id, seconds = id_of(request, "id", "job"), wait_seconds(request)
        found = await self.api.read(request, job_state, job_id)
        if seconds and not found.ended:
            await self.api.watch.ended(Awaited.JOB, job_id, seconds=seconds)
            found = await self.api.read(request, job_state, job_id)
        return Data(_job(found, values=request.identity.may("values")))

    async def scale(self, request: Request) -> Answer:
        if request.identity.tenant_id is not None:
            raise Refused(
                403, Code.FORBIDDEN, "this is about the jobs of all tenants, and the token is of one",
                next_="`bpc-worker token create NAME --scopes scale --all-tenants` makes one",
            )  # fmt: skip
        slots = request.asked(ScaleQuery).slots or self.api.settings.worker.concurrency
        async with self.api.database.reader(request.identity) as reading:
            rows = await reading.query("api/scale", {"slots": slots})
        return Data(Scale(value(rows, int)))


def _job(found: JobState, *, values: bool) -> Job:
    error = found.last_error
    return Job(
        job_id=found.job_id,
        type=found.type,
        status=found.status,
        attempts=found.attempts,
        max_attempts=found.max_attempts,
        due=found.due,
        last_error=None if error is None else JobError(error.code, error.message),
        result=found.result if values else None,
    )
