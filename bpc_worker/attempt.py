"""The one try-boundary: run a handler, return how it ended."""

import json

import msgspec

from bpc_worker import log
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

_log = log.get("attempt")
_LONGEST_MESSAGE = 2000


async def attempt(spec: HandlerSpec[msgspec.Struct], claim: Claim, context: Context) -> Outcome:
    """Every way a handler can end, as one value. Cancellation alone flies on: whoever cancelled knows why."""
    try:
        payload = decode(claim.payload, spec.payload)
        result = await spec.handle(payload, context)
        return Done(encode_result(result), _spec_hash(claim))
    except LeaseLost:
        return Lost()
    except Snooze as error:
        return Snoozed(info(error), error.seconds)
    except Unavailable as error:
        return InfrastructureAway(info(error))
    except Permanent as error:
        return Failed(info(error))
    except JobError as error:
        return Retry(info(error))
    except TimeoutError as error:
        return Retry(ErrorInfo(Code.HANDLER_TIMEOUT, clean(str(error) or "timed out"), True))
    except Exception as error:  # noqa: BLE001 - a bug in a handler must not stop the worker
        _log.warning("handler_bug", exc_info=True)
        return Retry(ErrorInfo(Code.INTERNAL_ERROR, clean(f"{type(error).__name__}: {error}"), True))


def decode(payload: str, into: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.json.decode(payload, type=into)
    except (msgspec.DecodeError, RecursionError) as error:  # ValidationError is a DecodeError
        raise Permanent(Code.VALIDATION_ERROR, f"payload: {error}") from error


def encode_result(result: object) -> str | None:
    if result is None:
        return None
    try:
        return msgspec.json.encode(result).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Permanent(Code.VALIDATION_ERROR, f"the handler's result is not JSON: {error}") from error


def _spec_hash(claim: Claim) -> bytes | None:
    if claim.spec_hash is not None:
        return claim.spec_hash
    try:
        return spec_hash(claim.type, json.loads(claim.payload))
    except (ValueError, RecursionError):  # fine as a payload, too wild for canonical JSON
        return None


def info(error: JobError) -> ErrorInfo:
    return ErrorInfo(error.code, clean(error.message), error.retryable, error.detail)


def clean(text: str) -> str:
    """Only what PostgreSQL stores: no NUL, no lone surrogates, and of bounded length."""
    storable = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    return log.redact(storable[:_LONGEST_MESSAGE])
