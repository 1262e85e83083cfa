"""The arguments of one call, checked one by one, with words for what is wrong."""

from collections.abc import Callable, Iterable

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.fits import fit
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError, Span, limit_exceeded
from bpc_worker.core.rules.suggest import nearest
from bpc_worker.core.rules.types import Type, show
from bpc_worker.core.units import UNITS

CheckExpression = Callable[[syntax.Expression, Scope], typed.Node]

MAX_SCALE = 30


class Arguments:
    def __init__(self, call: syntax.Call, scope: Scope, check: CheckExpression) -> None:
        self._call = call
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
            wanted = " or ".join(map(str, allowed))
            message = f"{self._call.function} takes {wanted} arguments, not {self.given}"
            raise RuleError("RULE_TYPE_ERROR", message, self.span)

    def outside_lambda(self) -> None:
        if self.scope.in_lambda:
            raise RuleError(
                "RULE_TYPE_ERROR", f"{self._call.function} cannot stand inside a lambda", self.span,
                hint="put it before: let x = …; and use x inside",
            )  # fmt: skip

    def wrong(self, position: int, wanted: str, *, hint: str | None = None) -> RuleError:
        found = show(self.node(position).type)
        message = f"{self._call.function} wants {wanted} here, not {found}"
        return RuleError("RULE_TYPE_ERROR", message, self.span_of(position), hint=hint)

    def node(self, position: int) -> typed.Node:
        return self.check(self.expression(position), self.scope)

    def expression(self, position: int) -> syntax.Expression:
        written = self._call.arguments[position]
        if isinstance(written, syntax.Lambda):
            raise RuleError("RULE_TYPE_ERROR", "a lambda cannot stand here", written.span)
        return written

    def function(self, position: int, parameters: int) -> syntax.Lambda:
        written = self._call.arguments[position]
        if not isinstance(written, syntax.Lambda) or len(written.parameters) != parameters:
            shape = "x => …" if parameters == 1 else "(acc, x) => …"
            message = f"{self._call.function} wants a lambda here"
            raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=f"write {shape}")
        return written

    def of_type(self, position: int, wanted: Type) -> typed.Node:
        node = self.node(position)
        found = fit(node, wanted) if node.type == wanted else None
        if found is None:
            raise self.wrong(position, show(wanted))
        return found

    def text(self, position: int, what: str) -> str:
        written = self._call.arguments[position]
        if isinstance(written, syntax.Literal) and isinstance(written.value, str):
            return written.value
        raise RuleError("RULE_TYPE_ERROR", f"expected {what} in quotes", written.span)

    def word(self, position: int, what: str, known: Iterable[str]) -> str:
        written = self._call.arguments[position]
        if isinstance(written, syntax.Name) and written.name in known:
            return written.name
        shown = written.name if isinstance(written, syntax.Name) else ""
        near = nearest(shown, known)
        hint = f"did you mean {near}?" if near else f"known are {', '.join(known) or 'none'}"
        raise RuleError("RULE_TYPE_ERROR", f"expected {what}", written.span, hint=hint)

    def unit(self, position: int) -> str:
        return self.word(position, "a unit", UNITS)

    def scale(self, position: int) -> int:
        written = self._call.arguments[position]
        value = written.value if isinstance(written, syntax.Literal) else None
        if not isinstance(value, int) or isinstance(value, bool):
            raise RuleError("RULE_TYPE_ERROR", "expected a scale, a whole number", written.span)
        if value > MAX_SCALE:
            raise limit_exceeded(f"a scale of {value}", MAX_SCALE, written.span)
        return value
