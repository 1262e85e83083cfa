"""The other end of a webhook that is not there: it answers as the test says, and keeps what was sent."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from bpc_worker.handler_api import Answer


@dataclass(frozen=True, slots=True)
class Posted:
    url: str
    headers: Mapping[str, str]
    body: bytes
    kept_for: Hashable = None  # the tenant, and what the handler said


@dataclass(frozen=True, slots=True)
class Receiver:
    """For Workbench(egress=…). `answers` may raise what ctx.post raises: a Permanent, a Retryable."""

    answers: Callable[[Posted], Answer] = lambda _: Answer(200)
    posted: list[Posted] = field(default_factory=list)

    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, kept_for: Hashable = None
    ) -> Answer:
        posted = Posted(url, dict(headers), body, kept_for)
        self.posted.append(posted)
        return self.answers(posted)
