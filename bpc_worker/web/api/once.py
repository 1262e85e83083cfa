"""Calls that take effect once, however often they come: Idempotency-Key.

What a call does and what was answered are written in one transaction. So after a lost answer, or the death of
this process, the same call finds both, or neither and is carried out. A call that failed has changed nothing,
and is not remembered.
"""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

import msgspec

from bpc_worker import ids, wiring
from bpc_worker.jobs.errors import Code, RunAgain
from bpc_worker.pipeline.one_transaction import OneTransaction, in_one
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of
from bpc_worker.web.api.described import KEY_HEADER
from bpc_worker.web.api.preferences import idempotency_key
from bpc_worker.web.layer.answers import Data, Raw
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request

Act = Callable[[OneTransaction], Awaitable[Data | Raw]]

_LOCKED = "55P03"  # for as long as anybody waits for a lock


class Keeps(StrEnum):
    """What is remembered of a call beside the fact that it was made."""

    ANSWER = "answer"
    SEALED = "sealed"  # with a secret in it
    NOTHING = "nothing"  # it is made anew each time, and is the same


class _Kept(msgspec.Struct, frozen=True):
    """An answer."""

    media_type: str
    headers: dict[str, str]
    body: bytes


class _Found(msgspec.Struct, frozen=True):
    api_request_id: UUID
    request_hash: bytes
    status: int | None
    answer: bytes | None


def digest_of(request: Request, body: object) -> bytes:
    """Of what is asked, not of how it is written: of a body with files, its parts."""
    asked = (request.method, request.path, request.query, body)
    return sha256(msgspec.json.encode(asked, order="deterministic")).digest()


async def once(
    pipeline: PipelineSession, request: Request, body: object, act: Act, *, keeps: Keeps = Keeps.ANSWER
) -> Raw:
    """What `act` answers; or what it answered before."""
    call = Call(pipeline, idempotency_key(request), digest_of(request, body), keeps)
    return await call.carried_out(act)


class Call:
    def __init__(
        self, pipeline: PipelineSession, key: str | None, digest: bytes, keeps: Keeps = Keeps.ANSWER
    ) -> None:
        self._pipeline = pipeline
        self._key = key
        self._digest = digest
        self._keeps = keeps

    async def carried_out(self, act: Act) -> Raw:
        return await in_one(self._pipeline, lambda one: self._carry_out(one, act))

    async def begun(self) -> None:
        """Of a call whose parts are carried out one by one: from now on the key stands for it."""
        if self._key is not None:
            await in_one(self._pipeline, self._take)

    async def _carry_out(self, one: OneTransaction, act: Act) -> Raw:
        if self._key is None:
            return _raw(await act(one))
        taken = await self._take(one)
        if isinstance(taken, Raw):
            return taken
        answer = _raw(await act(one))
        if self._keeps is not Keeps.NOTHING:
            await one.tx.query("api/keep_answer", self._row(one, taken, answer))
        return answer

    async def _take(self, one: OneTransaction) -> UUID | Raw:
        """The id of the call; its answer, if it came before."""
        new = ids.uuid7()
        row = {
            "tenant_id": one.tenant_id,
            "actor_id": one.actor_id,
            "idempotency_key": self._key,
            "request_hash": self._digest,
            "api_request_id": new,
        }
        try:
            added = await one.tx.query("api/add_request", row)
        except RunAgain as error:
            raise _at_work() if error.sqlstate == _LOCKED else error from error
        if added:
            return new
        [found] = all_of(await one.tx.query("api/find_request", row), _Found)
        if found.request_hash != self._digest:
            raise _another_call()
        return found.api_request_id if found.answer is None else self._answered(one, found, found.answer)

    def _row(self, one: OneTransaction, call_id: UUID, answer: Raw) -> dict[str, object]:
        kept = msgspec.msgpack.encode(_Kept(answer.media_type, dict(answer.headers), answer.body))
        if self._keeps is Keeps.SEALED:
            kept = wiring.sealer(one.settings).seal(kept, tenant_id=one.tenant_id, row_id=call_id)
        return {
            "tenant_id": one.tenant_id,
            "api_request_id": call_id,
            "status": answer.status,
            "answer": kept,
        }

    def _answered(self, one: OneTransaction, found: _Found, answer: bytes) -> Raw:
        if self._keeps is Keeps.SEALED:
            answer = wiring.sealer(one.settings).open(
                answer, tenant_id=one.tenant_id, row_id=found.api_request_id
            )
        kept = msgspec.msgpack.decode(answer, type=_Kept)
        return Raw(kept.body, kept.media_type, found.status or 200, headers=kept.headers)


def _raw(answer: Data | Raw) -> Raw:
    """As its bytes: the same call is answered with the same ones."""
    if isinstance(answer, Raw):
        return answer
    body = msgspec.json.encode(answer.value)
    return Raw(body, answer.media_type, answer.status, headers=answer.headers)


def _another_call() -> Refused:
    return Refused(
        409, Code.IDEMPOTENCY_CONFLICT, f"another call came with this {KEY_HEADER} before",
        next_="give each call a key of its own, and repeat a call with the very same content",
    )  # fmt: skip


def _at_work() -> Refused:
    return Refused(
        409, Code.IDEMPOTENCY_CONFLICT, f"a call with this {KEY_HEADER} is being carried out",
        next_="repeat it after Retry-After: it is answered as the first one is",
        headers={"Retry-After": "2"},
    )  # fmt: skip
