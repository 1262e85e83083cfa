"""JSON as PostgreSQL keeps it (jsonb): what it refuses, how it prints, and when two values are the same."""

import json
from decimal import Decimal

from bpc_worker.jobs.errors import Code, Permanent


def stored(text: str, *, what: str) -> object:
    """The value of a JSON text, or a refusal where the database would refuse it."""
    try:
        value: object = json.loads(text, parse_constant=_no_such_number)
    except (ValueError, RecursionError) as error:
        raise Permanent(Code.VALIDATION_ERROR, f"{what} is not JSON") from error
    if "\\u0000" in text and _holds_nul(value):
        raise Permanent(Code.VALIDATION_ERROR, f"{what} holds a NUL character, which cannot be stored")
    return value


def printed(value: object) -> str:
    """Keys by length, then by bytes; a space after colon and comma."""
    return json.dumps(_ordered(value), ensure_ascii=False)


def same(one: str, other: str) -> bool:
    """Whether two texts are one value: the order of keys does not count, and 1 is 1.0 but not true."""
    return _comparable(one) == _comparable(other)


def _ordered(value: object) -> object:
    match value:
        case dict():
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return {key: _ordered(value[key]) for key in keys}
        case list():
            return [_ordered(each) for each in value]
        case _:
            return value


def _comparable(text: str) -> object:
    return _tagged(json.loads(text, parse_float=Decimal, parse_int=Decimal))


def _tagged(value: object) -> object:
    match value:
        case bool():  # Python takes True for 1
            return ("bool", value)
        case dict():
            return {key: _tagged(each) for key, each in value.items()}
        case list():
            return [_tagged(each) for each in value]
        case _:
            return value


def _holds_nul(value: object) -> bool:
    match value:
        case str():
            return "\x00" in value
        case dict():
            return any(_holds_nul(key) or _holds_nul(each) for key, each in value.items())
        case list():
            return any(_holds_nul(each) for each in value)
        case _:
            return False


def _no_such_number(name: str) -> None:
    raise ValueError(name)
