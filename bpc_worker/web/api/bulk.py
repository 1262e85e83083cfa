"""Many builds in one call, a line each: what is wrong with one stops no other."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec

from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.observability import log
from bpc_worker.pipeline.builds.listing import ShownBuild
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.api.bodies import as_json, lines_of, media_type_of, refuse_media_type
from bpc_worker.web.api.builds import ABOUT, BuildManifest, BuildQuery, begin, manifest_of
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.described import NDJSON, ApiRoute
from bpc_worker.web.api.helped import in_words_of_an_api
from bpc_worker.web.api.once import Call, digest_of
from bpc_worker.web.api.preferences import idempotency_key, priority
from bpc_worker.web.layer.answers import Answer, Raw
from bpc_worker.web.layer.problems import Problem, Refused, problem_of
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_log = log.get("web")
_MOST_LINES = 1000
_MOST_BYTES = 8 * 1024 * 1024


class BulkLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a line: its build, or what is wrong with it."""

    line: int
    status: int
    build: ShownBuild | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Bulk:
    api: Api

    def routes(self) -> list[ApiRoute]:
        return [
            ApiRoute(
                "POST", "/v1/builds:bulk", self.start, needs("write", changes=True), body=bytes,
                query=BuildQuery, says="Have many passports made: a manifest a line, an answer a line.",
                most_bytes=_MOST_BYTES, about=ABOUT, takes={NDJSON: BuildManifest}, gives={NDJSON: BulkLine},
            ),
        ]  # fmt: skip

    async def start(self, request: Request) -> Answer:
        """Each line is a transaction, with a key of its own under that of the call."""
        if media_type_of(request) != NDJSON:
            raise refuse_media_type(NDJSON)
        lines = lines_of(request.given(bytes), _MOST_LINES)
        query = request.asked(BuildQuery)
        urgent = priority(request, query.priority)
        begun = partial(begin, again=query.again, priority=urgent)
        key = idempotency_key(request)
        async with self.api.pipeline(request) as pipeline:
            await Call(pipeline, key, digest_of(request, b"\n".join(lines))).begun()
            told = [each async for each in _carried_out(pipeline, key, lines, begun)]
        return Raw(b"".join(told), NDJSON)


async def _carried_out(
    pipeline: PipelineSession, key: str | None, lines: list[bytes], begun: Any
) -> AsyncIterator[bytes]:
    away: Unavailable | None = None
    for number, line in enumerate(lines, start=1):
        try:
            if away is not None:
                raise away
            manifest = manifest_of(as_json(line, BuildManifest, f"line {number}"))
            line_key = None if key is None else f"{key} line {number}"
            call = Call(pipeline, line_key, sha256(line).digest())
            answer = await call.carried_out(partial(begun, manifest))
        except (JobError, Refused) as error:
            if isinstance(error, Unavailable) and away is None:
                away = error  # nobody waits for it a thousand times
                _log.warning("request_failed", error_code=error.code, error_message=error.message)
            problem, _ = problem_of(in_words_of_an_api(error))
            yield _line(BulkLine(line=number, status=problem.status, problem=problem))
        else:
            build = msgspec.json.decode(answer.body, type=ShownBuild)
            yield _line(BulkLine(line=number, status=answer.status, build=build))


def _line(told: BulkLine) -> bytes:
    return msgspec.json.encode(told) + b"\n"
