"""Lambdas, called with values: their parameters are variables beside those of what surrounds them."""

from collections.abc import Callable, Iterable

from bpc_worker.core.rules import typed
from bpc_worker.core.rules.source import Span, unchecked
from bpc_worker.core.rules.trace import NO_NODE, Ref
from bpc_worker.core.rules.values import Value

# The variables at hand. One dictionary for a whole expression: an inner block or lambda adds its names and
# takes them away again, so that a long list of names is never copied for each of many elements.
Scope = dict[str, Ref]
Hidden = list[tuple[str, Ref | None]]


def hidden_by(names: Iterable[str], scope: Scope) -> Hidden:
    """What these names stand for, before they are bound anew."""
    return [(name, scope.get(name)) for name in names]


def unbind(scope: Scope, hidden: Hidden) -> None:
    """The scope as it was."""
    for name, before in reversed(hidden):
        if before is None:
            scope.pop(name, None)
        else:
            scope[name] = before


class Call:
    """A lambda, ready to be called with values; its parameters stay in the scope, for the next call."""

    def __init__(
        self,
        evaluate: Callable[[typed.Node, Scope], Value],
        function: typed.LambdaNode | None,
        scope: Scope,
        span: Span,
    ) -> None:
        self._evaluate = evaluate
        self._function = function
        self._scope = scope
        self.names = [name for name, _ in function.parameters] if function is not None else []
        self.span = span

    def __call__(self, *values: Value) -> Value:
        if self._function is None:
            raise unchecked("this operation needs a lambda").at(self.span)
        for name, value in zip(self.names, values, strict=True):
            self._scope[name] = Ref(value, NO_NODE)
        return self._evaluate(self._function.body, self._scope)
