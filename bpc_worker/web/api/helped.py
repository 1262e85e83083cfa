"""What to do next when a call was refused, in the words of somebody who calls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bpc_worker.jobs.errors import Code, JobError
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.layer.answers import Answer
from bpc_worker.web.layer.problems import Refused, problem_of
from bpc_worker.web.layer.request import Request

_NEXT: Final[Mapping[str, str]] = {
    Code.NOT_FOUND: "compare the id with the lists: what is another tenant's is not found either",
    Code.FORBIDDEN: "ask with a token that has the scope; `GET /v1/whoami` says what this one has",
    Code.VALIDATION_ERROR: "correct what `detail` names; `/openapi.json` has every member and its type",
    Code.IDEMPOTENCY_CONFLICT: "give each call a key of its own, and repeat a call with the same content",
    Code.PAYLOAD_TOO_LARGE: "send less at a time",
    Code.QUEUE_FULL: "wait as long as Retry-After says, and repeat the call with the same Idempotency-Key",
    Code.RATE_LIMITED: "wait as long as Retry-After says, and repeat the call",
    Code.RULE_PKG_NOT_PUBLISHED: "name rules that are published, or have them tested and published",
    Code.PASSPORT_INCOMPLETE: "`GET /v1/passports/{id}/gaps` says what is missing; send it, and build again",
    Code.WEBHOOK_GONE: "switch the endpoint on: `POST /v1/webhooks/{id}:enable`",
    Code.WEBHOOK_BLOCKED: "name an address that anybody can reach by https",
    Code.REPLAY_MISMATCH: "do not rely on it, and tell whoever operates this",
}  # fmt: skip

_SERVER_ERROR: Final = 500


def helped(route: ApiRoute) -> ApiRoute:
    """The same, with the next step of an API in its problems, and not that of a worker's job."""

    async def handle(request: Request) -> Answer:
        try:
            return await route.handle(request)
        except JobError as error:
            if problem_of(error)[0].status >= _SERVER_ERROR:
                raise
            raise in_words_of_an_api(error) from error

    return replace(route, handle=handle)


def in_words_of_an_api(error: JobError | Refused) -> Refused:
    if isinstance(error, Refused):
        return error
    problem, headers = problem_of(error)
    said = _NEXT.get(problem.code)
    return Refused(problem.status, problem.code, problem.detail, next_=said, headers=headers)
