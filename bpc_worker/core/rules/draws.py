"""The values that a property is tried with, drawn so that any language can draw them again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial

from bpc_worker.core.base import canonical_json, numbers
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.rules.types import DecType, Type
from bpc_worker.core.rules.values import Num, Value


@dataclass(frozen=True, slots=True)
class Draw:
    """A generated value: its name, how many values it can have, and the one of a number from 0."""

    name: str
    choices: int
    value_of: Callable[[int], Value]

    def value(self, seed: int, test: str, case: int) -> Value:
        """By SHA-256 of the canonical JSON array [seed, test, case, name], read as one big-endian number."""
        digest = sha256(canonical_json.encode([seed, test, case, self.name]))
        return self.value_of(int.from_bytes(digest, "big") % self.choices)


def one_of(name: str, values: tuple[Value, ...]) -> Draw:
    return Draw(name, len(values), values.__getitem__)


def between(name: str, kind: Type, low: Value, high: Value) -> Draw | None:
    """Both ends included; None when the two are no range of that type."""
    match low, high:
        case date() as day, date() as end if day <= end:
            return Draw(name, (end - day).days + 1, partial(_day, day))
        case Num(least), Num(most) if least <= most and isinstance(kind, DecType):
            first, last = (int(numbers.multiply(end, Decimal(10**kind.scale))) for end in (least, most))
            return Draw(name, last - first + 1, partial(_decimal, first, kind.scale))
        case int(first), int(last) if first <= last and not isinstance(first, bool):
            return Draw(name, last - first + 1, partial(_whole, first))
        case _:
            return None


def _day(first: date, number: int) -> Value:
    return first + timedelta(days=number)


def _decimal(first: int, scale: int, number: int) -> Value:
    sign, digits, _ = Decimal(first + number).as_tuple()
    return Num(numbers.bounded(Decimal((sign, digits, -scale))))


def _whole(first: int, number: int) -> Value:
    return first + number
