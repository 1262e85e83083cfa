"""What expressions evaluate to, and how values are written into proofs and payloads."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from bpc_worker.core import canonical_json, numbers
from bpc_worker.core.hashing import sha256_hex

MAX_JSON_INTEGER = 2**53 - 1


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

NUMERIC = (int, Num, Quantity)


def encoded(value: Value) -> object:
    """The one JSON form of a value inside a proof; every kind has a form of its own."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= MAX_JSON_INTEGER else {"int": str(value)}
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
        case tuple():
            return {
                "count": len(value),
                "list": sha256_hex(canonical_json.encode([encoded(each) for each in value])),
            }
        case _:
            return {"map": {key: encoded(each) for key, each in sorted(value.items())}}


def decoded(form: object) -> Value:
    """The value of a form; lists are bound by their hash alone and cannot be decoded. ValueError otherwise."""
    match form:
        case None | bool() | int() | str():
            return form
        case {"int": str(text), **rest} if not rest:
            return int(text)
        case {"dec": str(text), **rest} if not rest:
            return Num(Decimal(text))
        case {"qty": str(text), "unit": str(unit), **rest} if not rest:
            return Quantity(Decimal(text), unit)
        case {"date": str(text), **rest} if not rest:
            return date.fromisoformat(text)
        case {"json": inner, **rest} if not rest:
            return JsonValue(inner)
        case {"empty": str(kind), "reason": str(reason), **rest} if not rest:
            return Empty(kind, reason)
        case {"map": dict(inner), **rest} if not rest:
            return {key: decoded(each) for key, each in inner.items()}
        case _:
            raise ValueError(f"not the form of a value: {form!r}")


def published(value: Value) -> object:
    """The form of a field's value in the payload: what a reader of the passport sees."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= MAX_JSON_INTEGER else str(value)
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
        case tuple():
            return [published(each) for each in value]
        case _:
            return {key: published(each) for key, each in sorted(value.items())}
