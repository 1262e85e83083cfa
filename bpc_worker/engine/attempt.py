"""The one try-boundary: run a handler, return how it ended."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import lru_cache

import msgspec

from bpc_worker.core.spec_hash import spec_hash
from bpc_worker.handler_api import Context, HandlerSpec
from bpc_worker.jobs.errors import (
    Code,
    JobError,
    LeaseLost,
    Permanent,
    Snooze,
    Unavailable,
)
from bpc_worker.jobs.model import (
    Claim,
    Done,
    ErrorInfo,
    Failed,
    InfrastructureAway,
    Lost,
    Outcome,
    Retry,
    Snoozed,
)
from bpc_worker.jobs.payloads import UNDECODABLE, undecodable
from bpc_worker.observability import log
from bpc_worker.observability.tracebacks import frames_of, type_and_place

_log = log.get("attempt")
_LONGEST_MESSAGE = 2000
_LONGEST_DETAIL = 8_000
_LONGEST_RESULT = 1_048_576
_SHORT_PAYLOAD = 64


async def attempt(
    spec: HandlerSpec[msgspec.Struct],
    claim: Claim,
    context: Context,
    log_fields: Callable[[], dict[str, object]] = dict,
    *,
    begin: Callable[[], object] = bool,
    read_payload: Callable[[], Awaitable[None]] | None = None,
) -> Outcome:
    """Every way a handler can end, as one value. Cancellation alone flies on: whoever cancelled knows why.

    `log_fields` are asked for by the log lines of the handler; `begin` is told that its time counts from now.
    """
    log.OF_JOB.set(log_fields)
    try:
        if claim.payload is None and read_payload is not None:
            await read_payload()
        begin()
        return await _handled(spec, claim, context)
    except LeaseLost:
        return Lost()
    except Snooze as error:
        return Snoozed(info(error), error.seconds)
    except Unavailable as error:
        return InfrastructureAway(info(error))
    except Permanent as error:
        return Failed(info(error))
    except JobError as error:
        return Retry(info(error), error.after_seconds)
    except TimeoutError as error:
        return Retry(ErrorInfo(Code.HANDLER_TIMEOUT, clean(str(error) or "timed out"), True))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - a bug, or sys.exit(), must not stop the worker
        what = type_and_place(error)
        _log.warning("handler_bug", error_message=what, exception=frames_of(error))
        return Retry(ErrorInfo(Code.INTERNAL_ERROR, what, True))


async def _handled(spec: HandlerSpec[msgspec.Struct], claim: Claim, context: Context) -> Outcome:
    text = _payload_of(claim, spec.payload)
    try:
        payload = msgspec.json.decode(text, type=spec.payload)
    except UNDECODABLE as error:
        raise undecodable(error) from error
    result = await spec.handle(payload, context)
    return Done(encode_result(result), spec_hash_of(claim))


class _Named(msgspec.Struct, frozen=True):
    tenant_id: str | msgspec.UnsetType = msgspec.UNSET


def _payload_of(claim: Claim, into: type[msgspec.Struct]) -> str:
    """A payload may repeat whose job it is; another tenant's name there is an attempt to get at its rows.

    What a handler's own type does not ask for is taken out.
    """
    text = _text(claim)
    if '"tenant_id"' not in text:
        return text
    try:
        named = msgspec.json.decode(text, type=_Named).tenant_id
        if named is msgspec.UNSET:
            return text
        rest = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return text  # whoever decodes it says what is wrong
    if named.lower() != str(claim.tenant_id):
        raise Permanent(Code.FORBIDDEN, "payload: tenant_id is not the job's")
    if "tenant_id" in into.__struct_fields__:
        return text
    del rest["tenant_id"]
    return msgspec.json.encode(rest).decode()


def _text(claim: Claim) -> str:
    assert claim.payload is not None  # noqa: S101 - whoever runs the job has seen to it
    return claim.payload


def encode_result(result: object) -> str | None:
    if result is None:
        return None
    try:
        text = msgspec.json.encode(result).decode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the handler's result is not JSON: {type(error).__name__}"
        raise Permanent(Code.VALIDATION_ERROR, message) from error
    if len(text) > _LONGEST_RESULT:
        raise Permanent(Code.PAYLOAD_TOO_LARGE, f"the handler's result has {len(text)} characters")
    return text


def spec_hash_of(claim: Claim) -> bytes | None:
    if claim.spec_hash is not None:
        return claim.spec_hash
    text = _text(claim)
    if len(text) <= _SHORT_PAYLOAD:
        return _spec_hash_of_short(claim.type, text)
    return _spec_hash(claim.type, text)


def _spec_hash(job_type: str, payload: str) -> bytes | None:
    try:
        return spec_hash(job_type, json.loads(payload))
    except (ValueError, RecursionError):  # fine as a payload, too wild for canonical JSON
        return None


_spec_hash_of_short = lru_cache(maxsize=256)(_spec_hash)  # ticks and sweeps, whose payloads are all the same


def info(error: JobError) -> ErrorInfo:
    return ErrorInfo(clean(error.code), clean(error.message), error.retryable, _detail(error))


def _detail(error: JobError) -> dict[str, object] | None:
    """What can be stored of it, or nothing."""
    text = None if error.detail is None else storable_json(error.detail)
    if text is None:
        return None
    found: dict[str, object] = msgspec.json.decode(log.redact(text), type=dict[str, object])
    return found


def storable_json(value: object) -> str | None:
    """The JSON that PostgreSQL takes, of bounded length; None where there is none."""
    try:
        text = msgspec.json.encode(value).decode()
        msgspec.json.decode(text)  # a Raw inside may be anything
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return None if len(text) > _LONGEST_DETAIL or "\\u0000" in text else text


def clean(text: str) -> str:
    """Only what PostgreSQL stores: no NUL, no lone surrogates, and of bounded length."""
    storable = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    return log.redact(storable)[:_LONGEST_MESSAGE]
