"""The arguments of one call, each checked once, with words for what is wrong."""

from collections.abc import Callable, Iterable, Mapping

from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.parse_types import checked_scale
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError, Span, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    FACT,
    INT,
    JSON,
    MOMENT,
    MONTH,
    NONE,
    NUM,
    TEXT,
    TEXTS,
    DecType,
    ListType,
    MapType,
    OptType,
    QtyType,
    RecordType,
    Simple,
    Type,
    is_decimal,
    is_number,
    show,
)

CheckExpression = Callable[[syntax.Expression, Scope], typed.Node]

OPEN_IT = "open it first: requireSome(…), or unwrapOr(…, default)"
TAKE_A_VALUE = 'recordGet(…, "name") takes a value out of a fact'
GIVE_IT_A_TYPE = (
    "a value from a fact gets its type by toDec, toQty, toInt, toText, toTexts, toDate, toMonth, toMoment, "
    "toBool or toList"
)
NOT_NONE = 'only an Opt can be none; a field says why it has no value: missing("…")'


def hint_for(found: Type, otherwise: str) -> str:
    """What to do with a value that is not yet what one can work with; or else another hint."""
    if isinstance(found, OptType):
        return OPEN_IT
    return {JSON: GIVE_IT_A_TYPE, FACT: TAKE_A_VALUE, NONE: NOT_NONE}.get(found, otherwise)


def hint_to_fit(found: Type, wanted: Type, otherwise: str | None = None) -> str:
    """How to make what is there into what is wanted."""
    match wanted:
        case DecType(scale) if found == INT:
            return f"toDec({scale}, …)"
        case QtyType(unit) if isinstance(found, QtyType):
            return f"convert({unit}, …)"
        case QtyType(unit) if is_number(found):
            return f"toQty({unit}, …)"
        case Simple("Int") if is_decimal(found):
            return "no decimal becomes an Int, but round(half_even, 0, …) gives a Dec(0)"
        case _:
            return hint_for(found, otherwise or _how_to_write(wanted))


def _how_to_write(wanted: Type) -> str:
    match wanted:
        case OptType(of):
            return _how_to_write(of)
        case DecType(scale):
            return f"toDec({scale}, …) and round(half_even, {scale}, …) give a number of that scale"
        case QtyType(unit):
            return f"write qty(…, {unit}), or toQty({unit}, …) of a number"
        case ListType():
            return "getFactsByPrefix(…), toList(…), map(…) and filter(…) give a List"
        case MapType():
            return "a table is a Map: write its name"
        case RecordType():
            return "write record(name: …) with these names and no others, each of its type"
        case _:
            return _WAYS.get(wanted, "write a value of that type")


_WAYS: Mapping[Type, str] = {
    BOOL: "compare: ==, !=, <, <=, > and >= give a Bool",
    INT: "write a whole number, or toInt(…) of a value from a fact",
    TEXT: 'write "…" in quotes, or toText(…) of a value from a fact',
    DATE: 'write date("2027-02-18"), or toDate(…) of a value from a fact',
    MONTH: 'write month("2027-02"), or toMonth(…) of a value from a fact',
    MOMENT: 'write moment("2027-02-18T12:00:00Z"), or toMoment(…) of a value from a fact',
    TEXTS: 'write texts("en": "…"), or toTexts(…) of a value from a fact',
    NUM: "bring both to one scale: toDec(scale, …) or round(half_even, scale, …)",
    FACT: "only getFact(…) and getFactsByPrefix(…) give facts",
    JSON: 'this is for values from facts: requireSome(recordGet(…, "name"))',
}


class Arguments:
    def __init__(self, call: syntax.Call, scope: Scope, check: CheckExpression) -> None:
        self._call = call
        self._checked: dict[int, typed.Node] = {}
        self.scope = scope
        self.check = check

    @property
    def span(self) -> Span:
        return self._call.span

    @property
    def audiences(self) -> tuple[str, ...] | None:
        """Of a statement that says who may see it."""
        return self._call.audiences

    @property
    def severity(self) -> str | None:
        return self._call.severity

    @property
    def given(self) -> int:
        return len(self._call.arguments)

    def span_of(self, position: int) -> Span:
        return self._call.arguments[position].span

    def count(self, *names: str, optional: int = 0) -> None:
        """As many as there are names; the last `optional` ones may be left out."""
        allowed = range(len(names) - optional, len(names) + 1)
        if self.given not in allowed:
            wanted = " or ".join(map(str, allowed)) if names else "no"
            plural = "" if len(names) == 1 else "s"
            message = f"{self._call.function} takes {wanted} argument{plural}, not {self.given}"
            hint = f"write {self._call.function}({', '.join(names)})"
            raise RuleError("RULE_TYPE_ERROR", message, self.span, hint=hint)

    def outside_lambda(self) -> None:
        if self.scope.in_lambda:
            message = f"{self._call.function} cannot stand inside a lambda"
            hint = "put it before: let x = …; and use x inside"
            raise RuleError("RULE_TYPE_ERROR", message, self.span, hint=hint)

    def wrong(self, position: int, wanted: str, *, hint: str) -> RuleError:
        found = self.node(position).type
        message = f"{self._call.function} wants {wanted} here, not {show(found)}"
        return RuleError("RULE_TYPE_ERROR", message, self.span_of(position), hint=hint)

    def unfit(self, position: int, wanted: str, *, hint: str) -> RuleError:
        """As `wrong`; but of a value that must first be opened or given a type, the hint says that."""
        return self.wrong(position, wanted, hint=hint_for(self.node(position).type, hint))

    def node(self, position: int) -> typed.Node:
        if position not in self._checked:
            written = self._call.arguments[position]
            if isinstance(written, syntax.Lambda):
                message = f"{self._call.function} takes no lambda here"
                hint = "only map, filter and fold take one"
                raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=hint)
            self._checked[position] = self.check(written, self.scope)
        return self._checked[position]

    def function(self, position: int, parameters: int) -> syntax.Lambda:
        written = self._call.arguments[position]
        if not isinstance(written, syntax.Lambda) or len(written.parameters) != parameters:
            shape = "x => …" if parameters == 1 else "(acc, x) => …"
            message = f"{self._call.function} wants a lambda here"
            raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=f"write {shape}")
        return written

    def of_type(self, position: int, wanted: Type) -> typed.Node:
        node = self.node(position)
        if node.type != wanted:
            raise self.wrong(position, show(wanted), hint=hint_to_fit(node.type, wanted))
        return node

    def text(self, position: int, what: str) -> str:
        written = self._call.arguments[position]
        if isinstance(written, syntax.Literal) and isinstance(written.value, str):
            return written.value
        message = f"{self._call.function} wants {what} in quotes here"
        hint = 'write the text itself, "…": it cannot be computed'
        raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=hint)

    def word(self, position: int, what: str, known: Iterable[str]) -> str:
        written = self._call.arguments[position]
        name = written.name if isinstance(written, syntax.Name) else None
        if name is not None and name in known:
            return name
        hint = did_you_mean(name or "", known, f"known are {', '.join(known)}")
        found = "" if name is None else f", not {quoted(name)}"
        message = f"{self._call.function} wants {what} here{found}"
        raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=hint)

    def unit(self, position: int) -> str:
        return self.word(position, "a unit", UNITS)

    def scale(self, position: int) -> int:
        written = self._call.arguments[position]
        value = written.value if isinstance(written, syntax.Literal) else None
        if not isinstance(value, int) or isinstance(value, bool):
            message = f"{self._call.function} wants a scale here, a whole number"
            hint = "write it in digits, such as 2: it is part of the type"
            raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=hint)
        return checked_scale(value, self.scope.world.limits.scale, written.span)
