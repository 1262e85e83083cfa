"""The values that a property is tried with, drawn so that any language can draw them again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from bpc_worker.core import canonical_json, numbers
from bpc_worker.core.hashing import sha256
from bpc_worker.core.rules import arithmetic, syntax, typed
from bpc_worker.core.rules.fits import fit
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.typecheck import check
from bpc_worker.core.rules.types import DecType, Type, show
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


def draw_of(generator: syntax.Generator, scope: Scope) -> Draw:
    """RuleError when the generator's values are not of its type, or are no range."""
    values = [_constant(written, generator.type, scope) for written in generator.choices]
    if not generator.is_range:
        return Draw(generator.name, len(values), values.__getitem__)
    match values:
        case [date() as day, date() as end] if day <= end:
            return Draw(generator.name, (end - day).days + 1, lambda number: day + timedelta(days=number))
        case [Num(low), Num(high)] if low <= high and isinstance(generator.type, DecType):
            return _decimals(generator.name, low, high, generator.type.scale)
        case [int(first), int(last)] if first <= last and not isinstance(first, bool):
            return Draw(generator.name, last - first + 1, lambda number: first + number)
        case _:
            message = f"no range of {show(generator.type)}"
            hint = "Int, Dec and Date have ranges, low end first; others a choice {a, b}"
            raise RuleError("RULE_TYPE_ERROR", message, generator.span, hint=hint)


def _decimals(name: str, low: Decimal, high: Decimal, scale: int) -> Draw:
    unit = Decimal(10**scale)
    first, last = (int(numbers.multiply(end, unit)) for end in (low, high))

    def value_of(number: int) -> Value:
        sign, digits, _ = Decimal(first + number).as_tuple()
        return Num(numbers.bounded(Decimal((sign, digits, -scale))))

    return Draw(name, last - first + 1, value_of)


def _constant(written: syntax.Expression, kind: Type, scope: Scope) -> Value:
    """The literal, which is a value of the type as it stands: nothing is rounded."""
    node = check(written, scope)
    if isinstance(node, typed.Const) and fit(node, kind) is not None:
        number = arithmetic.decimal_of(node.value)
        if not isinstance(kind, DecType) or number is None:
            return node.value
        value = Num(numbers.rounded(number, kind.scale))
        if value.value == number:
            return value
    raise RuleError("RULE_TYPE_ERROR", f"expected a plain {show(kind)}", written.span)
