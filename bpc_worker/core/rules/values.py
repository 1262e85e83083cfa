"""What expressions evaluate to, and how values are written into proofs and payloads."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.core.base.calendar import Moment, Month, read_moment, read_month
from bpc_worker.core.base.canonical_json import MAX_INTEGER, quoted, text_of_checked
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.base.units import UNITS

WARN = "warn"  # the severity of a statement that says none
_BYTES_PER_STEP = 32  # of what is hashed, and not kept


@dataclass(frozen=True, slots=True)
class Num:
    """A decimal: Dec(n) and Num alike; its own scale tells them apart where it matters."""

    value: Decimal

    def form_text(self) -> str:
        return f'{{"dec":"{numbers.text(self.value)}"}}'


@dataclass(frozen=True, slots=True)
class Quantity:
    value: Decimal
    unit: str

    def form_text(self) -> str:
        return f'{{"qty":"{numbers.text(self.value)}","unit":{quoted(self.unit)}}}'


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value as it stands in a fact."""

    value: object

    def form_text(self) -> str:
        return f'{{"json":{text_of_checked(self.value)}}}'


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the snapshot. In proofs only its name and hash appear."""

    fact_type: str
    fact_key: str
    payload_hash: str
    payload: Mapping[str, object]

    def form_text(self) -> str:
        named = ",".join(map(quoted, (self.fact_type, self.fact_key, self.payload_hash)))
        return f'{{"fact":[{named}]}}'


@dataclass(frozen=True, slots=True)
class Texts:
    """One text in several languages, by their tags."""

    by_language: Mapping[str, str]

    def form_text(self) -> str:
        return f'{{"texts":{text_of_checked(dict(self.by_language))}}}'


@dataclass(frozen=True, slots=True)
class Empty:
    """Why a field has no value: signed content too. The detail stands in proofs, and is never published."""

    kind: str  # withheld | notApplicable | missing | notYet
    reason: str
    detail: str | None = None

    def form_text(self) -> str:
        detail = "" if self.detail is None else f'"detail":{quoted(self.detail)},'
        return f'{{{detail}"empty":{quoted(self.kind)},"reason":{quoted(self.reason)}}}'


Value = (
    None
    | bool
    | int
    | str
    | date
    | Month
    | Moment
    | Texts
    | Num
    | Quantity
    | JsonValue
    | Fact
    | Empty
    | tuple["Value", ...]
    | Mapping[str, "Value"]
)


def or_none(value: Value) -> Value:
    """What whoever refers to a field sees: none where it is empty."""
    return None if isinstance(value, Empty) else value


Spend = Callable[[int], None]

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")


def read_texts(inner: object) -> Texts | None:
    """An object of language tags and texts, at least one; a text alone is one in a language not said."""
    if isinstance(inner, str):
        inner = {"und": inner}
    if not isinstance(inner, dict) or not inner:
        return None
    for tag, text in inner.items():
        if not _LANGUAGE.fullmatch(tag) or not isinstance(text, str) or not text.strip():
            return None
    return Texts(inner)


def encoded(value: Value, spend: Spend | None = None) -> object:
    """The one JSON form of a value inside a proof, as whoever verifies it compares it."""
    return json.loads(form_text(value, spend))


def form_text(value: Value, spend: Spend | None = None) -> str:
    """The canonical text of a value inside a proof; every kind of value has a form of its own.

    `spend` is told of every element and of the bytes of every list, and may raise: lists inside lists can
    be far longer than what made them.
    """
    match value:
        case Quantity() | Fact() | JsonValue() | Num() | Empty() | Texts():
            return value.form_text()
        case date():
            return f'{{"date":"{value.isoformat()}"}}'
        case Month():
            return f'{{"month":"{value}"}}'
        case Moment():
            return f'{{"moment":"{value}"}}'
        case None | bool() | str():
            return text_of_checked(value)
        case int():
            large = abs(value) > MAX_INTEGER
            return f'{{"int":"{numbers.text(Decimal(value))}"}}' if large else str(value)
        case tuple():
            count, hashed = count_and_hash(value, spend)
            return f'{{"count":{count},"list":"{hashed}"}}'
        case _:
            members = [f"{quoted(key)}:{form_text(value[key], spend)}" for key in sorted(value)]
            return f'{{"map":{{{",".join(members)}}}}}'


def count_and_hash(items: tuple[Value, ...], spend: Spend | None) -> tuple[int, str]:
    """All that a proof holds of a list, which may be long."""
    if spend is not None:
        spend(len(items))
    data = f"[{','.join([form_text(each, spend) for each in items])}]".encode()
    if spend is not None:
        spend(len(data) // _BYTES_PER_STEP)
    return len(items), sha256_hex(data)


def decoded(form: object) -> Value:
    """The value of a form. ValueError for what is none; also for lists and facts, which are hashes."""
    try:
        value = _decoded(form)
    except numbers.TooManyDigitsError:
        raise ValueError("a number of too many digits") from None
    if encoded(value) != form:
        raise ValueError("not the one form of its value")
    return value


def _decoded(form: object) -> Value:
    match form:
        case None | bool() | int() | str():
            return form
        case {"int": str(text)}:
            return int(_number(text))
        case {"dec": str(text)}:
            return Num(_number(text))
        case {"qty": str(text), "unit": str(unit)} if unit in UNITS:
            return Quantity(_number(text), unit)
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case {"map": dict(inner)}:
            return {key: _decoded(each) for key, each in inner.items()}
        case _:
            return _decoded_rest(form)


def _decoded_rest(form: object) -> Value:
    match form:
        case {"json": inner}:
            return JsonValue(inner)
        case {"empty": str(kind), "reason": str(reason), "detail": str(detail)}:
            return Empty(kind, reason, detail)
        case {"empty": str(kind), "reason": str(reason)}:
            return Empty(kind, reason)
        case {"month": str(text)}:
            return _there(read_month(text))
        case {"moment": str(text)}:
            return _there(read_moment(text))
        case {"texts": dict(by_language)}:
            return _there(read_texts(by_language))
        case _:
            raise ValueError("not the form of a value")


def _there(found: Month | Moment | Texts | None) -> Value:
    if found is None:
        raise ValueError("not the form of a value")
    return found


def _number(text: str) -> Decimal:
    found = numbers.read(text)
    if found is None:
        raise ValueError("not a number")
    return found


def published(value: Value) -> object:
    """The form of a field's value in the payload: what a reader of the passport sees."""
    match value:
        case int() if abs(value) > MAX_INTEGER:
            return numbers.text(Decimal(value))
        case None | bool() | str() | int():
            return value
        case tuple():
            return [published(each) for each in value]
        case Num() | Quantity() | date() | Month() | Moment() | Texts() | JsonValue() | Fact() | Empty():
            return _published_one(value)
        case _:
            return {key: published(each) for key, each in value.items()}


def _published_one(
    value: Num | Quantity | date | Month | Moment | Texts | JsonValue | Fact | Empty,
) -> object:
    match value:
        case Num(number):
            return numbers.text(number)
        case Quantity(number, unit):
            return {"unit": unit, "value": numbers.text(number)}
        case date():
            return value.isoformat()
        case Month() | Moment():
            return str(value)
        case Texts(by_language):
            return dict(by_language)
        case JsonValue(inner):
            return inner
        case Fact():
            return dict(value.payload)
        case Empty(kind, reason, _):
            return {"empty": kind, "reason": reason}
