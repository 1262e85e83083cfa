"""A job's payload as the type that its handler asks for."""

import re

import msgspec

from bpc_worker.jobs.errors import Code, Permanent

_QUOTED_VALUE = re.compile(r"Invalid enum value .*?( - at `|$)", re.DOTALL)


UNDECODABLE = (msgspec.DecodeError, RecursionError)  # ValidationError is a DecodeError


def decode(payload: str, into: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.json.decode(payload, type=into)
    except UNDECODABLE as error:
        raise undecodable(error) from error


def undecodable(error: Exception) -> Permanent:
    """What is wrong with it, without quoting it."""
    said = _QUOTED_VALUE.sub(r"Invalid enum value\1", str(error))
    return Permanent(Code.VALIDATION_ERROR, f"payload: {said}")
