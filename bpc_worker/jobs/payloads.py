"""A job's payload as the type that its handler asks for."""

import re

import msgspec

from bpc_worker.jobs.errors import Code, Permanent

_QUOTED_VALUE = re.compile(r"Invalid enum value .*?( - at `|$)", re.DOTALL)


def decode(payload: str, into: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.json.decode(payload, type=into)
    except (msgspec.DecodeError, RecursionError) as error:  # ValidationError is a DecodeError
        said = _QUOTED_VALUE.sub(r"Invalid enum value\1", str(error))
        raise Permanent(Code.VALIDATION_ERROR, f"payload: {said}") from error
