"""What expressions evaluate to, and how values are written into proofs and payloads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from bpc_worker.core import canonical_json, numbers
from bpc_worker.core.hashing import sha256_hex
from bpc_worker.core.units import UNITS

_BYTES_PER_STEP = 32  # of what is hashed, and not kept


@dataclass(frozen=True, slots=True)
class Num:
    """A decimal: Dec(n) and Num alike; its own scale tells them apart where it matters."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class Quantity:
    value: Decimal
    unit: str


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value as it stands in a fact."""

    value: object


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the snapshot. In proofs only its name and hash appear."""

    fact_type: str
    fact_key: str
    payload_hash: str
    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Empty:
    """Why a field has no value: signed content too."""

    kind: str  # withheld | notApplicable | missing
    reason: str


Value = (
    None
    | bool
    | int
    | str
    | date
    | Num
    | Quantity
    | JsonValue
    | Fact
    | Empty
    | tuple["Value", ...]
    | Mapping[str, "Value"]
)


def encoded(value: Value, spend: Callable[[int], None] | None = None) -> object:
    """The one JSON form of a value inside a proof; every kind has a form of its own.

    `spend` is told of every element and of the bytes of every list, and may raise: lists inside lists can
    be far longer than what made them.
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            large = abs(value) > canonical_json.MAX_INTEGER
            return {"int": numbers.text(Decimal(value))} if large else value
        case tuple():
            return encoded_list(value, spend)
        case Num() | Quantity() | date() | JsonValue() | Fact() | Empty():
            return _marked(value)
        case _:
            return {"map": {key: encoded(each, spend) for key, each in value.items()}}


def encoded_list(items: tuple[Value, ...], spend: Callable[[int], None] | None) -> dict[str, object]:
    """Its length and its hash: a list may be long, and a proof must not be."""
    if spend is not None:
        spend(len(items))
    data = canonical_json.encode([encoded(each, spend) for each in items])
    if spend is not None:
        spend(len(data) // _BYTES_PER_STEP)
    return {"count": len(items), "list": sha256_hex(data)}


def _marked(value: Num | Quantity | date | JsonValue | Fact | Empty) -> object:
    match value:
        case Num(number):
            return {"dec": numbers.text(number)}
        case Quantity(number, unit):
            return {"qty": numbers.text(number), "unit": unit}
        case date():
            return {"date": value.isoformat()}
        case JsonValue(inner):
            return {"json": inner}
        case Fact(fact_type, fact_key, payload_hash, _):
            return {"fact": [fact_type, fact_key, payload_hash]}
        case Empty(kind, reason):
            return {"empty": kind, "reason": reason}


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
        case {"empty": str(kind), "reason": str(reason)}:
            return Empty(kind, reason)
        case _:
            raise ValueError("not the form of a value")


def _number(text: str) -> Decimal:
    found = numbers.read(text)
    if found is None:
        raise ValueError("not a number")
    return found


def published(value: Value) -> object:
    """The form of a field's value in the payload: what a reader of the passport sees."""
    match value:
        case int() if abs(value) > canonical_json.MAX_INTEGER:
            return numbers.text(Decimal(value))
        case None | bool() | str() | int():
            return value
        case tuple():
            return [published(each) for each in value]
        case Num() | Quantity() | date() | JsonValue() | Fact() | Empty():
            return _published_one(value)
        case _:
            return {key: published(each) for key, each in value.items()}


def _published_one(value: Num | Quantity | date | JsonValue | Fact | Empty) -> object:
    match value:
        case Num(number):
            return numbers.text(number)
        case Quantity(number, unit):
            return {"unit": unit, "value": numbers.text(number)}
        case date():
            return value.isoformat()
        case JsonValue(inner):
            return inner
        case Fact():
            return dict(value.payload)
        case Empty(kind, reason):
            return {"empty": kind, "reason": reason}
