"""The values of a proof's steps: read strictly, one form for one value, and what stays unseen."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TypeGuard

from bpc_worker.core.base import numbers
from bpc_worker.core.base.calendar import Moment, Month, read_moment, read_month
from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.core.base.derivation import data_bytes
from bpc_worker.core.base.forms import FormError, parse_date
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.base.numbers import TooManyDigitsError
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import types
from bpc_worker.core.rules.fits import join
from bpc_worker.core.rules.types import Type
from bpc_worker.core.rules.values import (
    Empty,
    Fact,
    JsonValue,
    Num,
    Quantity,
    Texts,
    Value,
    encoded,
    read_texts,
)

EMPTY_KINDS = frozenset({"withheld", "notApplicable", "missing", "notYet"})
NO_ITEMS = sha256_hex(b"[]")

_HASH = re.compile(r"[0-9a-f]{64}")
_SHOWN = 120

Plain = None | bool | int | str | date | Month | Moment | Texts | Num | Quantity


class StepError(ValueError):
    """A step that does not hold; whoever knows its number adds it."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A fact or a list of which only the hash is known; of a list, also its length and what it holds."""

    count: int | None
    of: Type | None = None


Known = Value | Unseen


@dataclass(frozen=True, slots=True)
class Seen:
    """What a step gave: the form in its data, and what is known of the value.

    A field, a table and the law date have a name too: a lambda that speaks of one must be given just that.
    """

    form: object
    value: Known
    name: str | None = None


def read(form: object) -> Known:
    """The value of a form; StepError for a form that no value is written in."""
    match form:
        case {"count": int(count), "list": str(hashed), **rest} if not rest:
            return _list(count, hashed)
        case {"fact": [str(), str(), str(hashed)], **rest} if not rest:
            read_hash(hashed)
            return Unseen(None)
        case {"empty": str(kind), "reason": str(reason), **rest} if kind in EMPTY_KINDS:
            return _empty(kind, reason, rest)
        case {"json": inner, **rest} if not rest:
            return JsonValue(inner)
        case {"map": dict(members), **rest} if not rest:
            return {key: _whole(read(member)) for key, member in members.items()}
        case _:
            return read_plain(form)


def read_constant(form: object) -> Value:
    """A value that stands in the rules themselves: a literal, or a table of literals and records of them."""
    match form:
        case {"map": dict(members), **rest} if not rest:
            return {key: read_constant(member) for key, member in members.items()}
        case _:
            return read_plain(form)


def read_plain(form: object) -> Plain:
    match form:
        case None | bool() | int() | str():
            return form
        case {"int": str(text), **rest} if not rest:
            return _large(text)
        case {"dec": str(text), **rest} if not rest:
            return Num(_number(text))
        case {"qty": str(text), "unit": str(unit), **rest} if not rest and unit in UNITS:
            return Quantity(_number(text), unit)
        case {"date": str(text), **rest} if not rest:
            return _date(text)
        case _:
            return _read_timed(form)


def _read_timed(form: object) -> Plain:
    """A month, a moment or texts by language, in the one form of each."""
    found: Month | Moment | Texts | None = None
    match form:
        case {"month": str(text), **rest} if not rest:
            found = read_month(text)
        case {"moment": str(text), **rest} if not rest:
            found = read_moment(text)
        case {"texts": dict(by_language), **rest} if not rest:
            found = read_texts(by_language)
        case _:
            pass
    if found is None or encoded(found) != form:
        raise StepError(f"{shown(form)} is not the form of a value")
    return found


def _empty(kind: str, reason: str, rest: Mapping[object, object]) -> Empty:
    match rest:
        case {"detail": str(detail), **more} if not more:
            return Empty(kind, reason, detail)
        case _ if rest:
            raise StepError(f"{shown(rest)} beside a reason")
        case _:
            return Empty(kind, reason)


def read_hash(form: object) -> str:
    if isinstance(form, str) and _HASH.fullmatch(form):
        return form
    raise StepError(f"{shown(form)} is not a hash")


def read_text(form: object) -> str:
    if isinstance(form, str):
        return form
    raise StepError(f"{shown(form)} is not a text")


def _list(count: int, hashed: str) -> Known:
    read_hash(hashed)
    if isinstance(count, bool) or count < 0:
        raise StepError(f"a list of {shown(count)} items")
    if (count == 0) != (hashed == NO_ITEMS):
        raise StepError(f"the hash {hashed} is not that of a list of {count}")
    return () if count == 0 else Unseen(count)


def _whole(value: Known) -> Value:
    """What stands in a record: all of it is seen, and it is there."""
    if isinstance(value, Unseen | Empty | tuple):
        raise StepError("a record of facts, lists or empty fields")
    return value


def _number(text: str) -> Decimal:
    try:
        number = numbers.read(text)
    except TooManyDigitsError as error:
        raise StepError(str(error)) from None
    if number is None or numbers.text(number) != text:
        raise StepError(f"{shown(text)} is not the form of a number")
    return number


def _large(text: str) -> int:
    number = int(_number(text))
    if "." in text or abs(number) <= MAX_INTEGER:
        raise StepError(f"{shown(text)} is not the form of an Int")
    return number


def _date(text: str) -> date:
    try:
        return parse_date(text)
    except FormError as error:
        raise StepError(str(error)) from None


def is_seen(value: Known) -> TypeGuard[Value]:
    return not isinstance(value, Unseen)


def seen_values(name: str, operands: Sequence[Seen]) -> tuple[Value, ...]:
    values = tuple(each.value for each in operands if is_seen(each.value))
    if len(values) < len(operands):
        raise StepError(f"{shown(name)} of something that cannot be seen")
    return values


def attested(form: object, kind: Type) -> Seen:
    """A result that only the facts would tell: any value of its type."""
    value = read(form)
    if not conforms(value, kind):
        raise StepError(f"{shown(form)} is no {types.show(kind)}")
    inner = kind.of if isinstance(kind, types.OptType) else kind
    if isinstance(value, Unseen) and isinstance(inner, types.ListType):
        value = Unseen(value.count, inner.of)
    return Seen(form, value)


def check_shape(
    name: str,
    params: Mapping[str, object],
    wanted: AbstractSet[str],
    operands: Sequence[Seen] = (),
    count: int = 0,
) -> None:
    if params.keys() != wanted:
        raise StepError(f"{name} with the parameters {shown(sorted(params))}")
    if len(operands) != count:
        raise StepError(f"{name} of {len(operands)} values, not {count}")


def conforms(value: Known, kind: Type) -> bool:
    """Whether the value is one of the type, as far as it can be seen."""
    match kind:
        case types.OptType(of):
            return value is None or conforms(value, of)
        case types.ListType(of):
            return _is_list(value, of)
        case types.MapType(of):
            return isinstance(value, Mapping) and all(conforms(each, of) for each in value.values())
        case types.RecordType(members):
            return _is_record(value, dict(members))
        case types.DecType(scale):
            return isinstance(value, Num) and numbers.scale_of(value.value) == scale
        case types.QtyType(unit):
            return isinstance(value, Quantity) and value.unit == unit
        case _:
            return _is_simple(value, types.show(kind))


_CLASSES: Mapping[str, type] = {
    "Bool": bool, "Int": int, "Text": str, "Date": date, "Month": Month, "Moment": Moment, "Texts": Texts,
    "Num": Num, "Json": JsonValue, "Fact": Fact,
    "none": type(None), "empty": Empty,
}  # fmt: skip


def _is_simple(value: Known, name: str) -> bool:
    if isinstance(value, Unseen):
        return name == types.FACT.name and value.count is None
    return type(value) is _CLASSES[name]  # not isinstance: a Bool is an Int to Python


def _is_list(value: Known, of: Type) -> bool:
    if isinstance(value, Unseen):
        return value.count is not None and (value.of is None or join(value.of, of) == of)
    return isinstance(value, tuple) and all(conforms(each, of) for each in value)


def _is_record(value: Known, members: Mapping[str, Type]) -> bool:
    if not isinstance(value, Mapping) or value.keys() != members.keys():
        return False
    return all(conforms(value[name], kind) for name, kind in members.items())


def same(found: object, expected: object) -> bool:
    """Whether two forms are one: by their bytes, as Python takes True for 1."""
    return data_bytes({"": found}) == data_bytes({"": expected})


def expect(found: object, expected: object, what: str) -> None:
    if not same(found, expected):
        raise StepError(f"{what}: found {shown(found)}, expected {shown(expected)}")


def shown(form: object) -> str:
    text = repr(form)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
