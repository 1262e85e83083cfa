"""The arguments of one call, each checked once, with words for what is wrong."""

from collections.abc import Callable, Iterable

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.parse_types import checked_scale
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError, Span, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import JSON, OptType, Type, show
from bpc_worker.core.units import UNITS

CheckExpression = Callable[[syntax.Expression, Scope], typed.Node]

OPEN_IT = "open it first: requireSome(…), or unwrapOr(…, default)"
GIVE_IT_A_TYPE = "a value from a fact gets its type by toDec, toQty, toInt, toText, toDate, toBool or toList"


def hint_for(found: Type) -> str | None:
    """What to do with a value that is not yet what one can work with."""
    if isinstance(found, OptType):
        return OPEN_IT
    return GIVE_IT_A_TYPE if found == JSON else None


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
    def given(self) -> int:
        return len(self._call.arguments)

    def span_of(self, position: int) -> Span:
        return self._call.arguments[position].span

    def count(self, *allowed: int) -> None:
        if self.given not in allowed:
            wanted = " or ".join(map(str, allowed)) if any(allowed) else "no"
            plural = "" if allowed == (1,) else "s"
            message = f"{self._call.function} takes {wanted} argument{plural}, not {self.given}"
            raise RuleError("RULE_TYPE_ERROR", message, self.span)

    def outside_lambda(self) -> None:
        if self.scope.in_lambda:
            message = f"{self._call.function} cannot stand inside a lambda"
            hint = "put it before: let x = …; and use x inside"
            raise RuleError("RULE_TYPE_ERROR", message, self.span, hint=hint)

    def wrong(self, position: int, wanted: str, *, hint: str | None = None) -> RuleError:
        found = self.node(position).type
        message = f"{self._call.function} wants {wanted} here, not {show(found)}"
        return RuleError("RULE_TYPE_ERROR", message, self.span_of(position), hint=hint or hint_for(found))

    def node(self, position: int) -> typed.Node:
        if position not in self._checked:
            written = self._call.arguments[position]
            if isinstance(written, syntax.Lambda):
                message = f"{self._call.function} takes no lambda here"
                raise RuleError("RULE_TYPE_ERROR", message, written.span)
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
            raise self.wrong(position, show(wanted))
        return node

    def text(self, position: int, what: str) -> str:
        written = self._call.arguments[position]
        if isinstance(written, syntax.Literal) and isinstance(written.value, str):
            return written.value
        raise RuleError("RULE_TYPE_ERROR", f"{self._call.function} wants {what} in quotes here", written.span)

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
            raise RuleError("RULE_TYPE_ERROR", message, written.span)
        return checked_scale(value, self.scope.world.limits.scale, written.span)
