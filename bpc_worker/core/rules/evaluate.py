"""Typed module + facts -> values, and a proof of each."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date

from bpc_worker.core.base.derivation import ProofBuilder
from bpc_worker.core.base.numbers import MAX_DIGITS, digits_of
from bpc_worker.core.rules import aggregate, arithmetic, declared, operations, typed
from bpc_worker.core.rules.call import Call, Hidden, Scope, hidden_by, unbind
from bpc_worker.core.rules.evaluated import Evaluated, FieldEndedError, Statement, placed
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.law import asked_points, count_missing, paths_of
from bpc_worker.core.rules.source import Limits, RuleError, Span, limit_exceeded
from bpc_worker.core.rules.trace import NO_NODE, Meter, Ref, Trace, capture_name, facts_hash, lambda_params
from bpc_worker.core.rules.values import Empty, Quantity, Value, or_none

__all__ = [
    "NO_NODE", "Call", "Evaluated", "Evaluator", "Ref", "Scope", "Statement", "capture_name", "facts_hash",
    "lambda_params",
]  # fmt: skip


class Evaluator:
    """Evaluates the fields of one module over one set of facts, in order, each once."""

    def __init__(
        self,
        module: typed.TypedModule,
        facts: FactSet,
        law_date: date | None,
        limits: Limits | None = None,
        *,
        prove: bool = True,
        meter: Meter | None = None,
    ) -> None:
        self._module = module
        self._facts = facts
        self._law_date = law_date
        self._limits = limits or Limits()
        self._meter = meter or Meter(self._limits)
        self._trace = Trace(self._meter, self._limits, on=prove)
        self._fields: dict[str, Ref] = {}
        self._read: dict[tuple[object, ...], Ref] = {}  # what was read already, and is a step
        self.result = Evaluated()

    @property
    def proof(self) -> ProofBuilder:
        return self._trace.proof

    def run(self) -> Evaluated:
        """Every field's value, and its proof; RuleError with the place of what went wrong."""
        for path in self._module.order:
            wanted = self._module.fields[path]
            with placed(wanted.span):
                ref = self._result(wanted.body)
                self._fields[path] = self._trace.field(wanted, ref)
            self.result.fields[path] = ref.value
        return self.result

    def _result(self, body: typed.Node) -> Ref:
        try:
            return self.step(body, {})
        except FieldEndedError as ended:
            return ended.ref

    def provide(self, path: str, value: Value) -> None:
        """A field's value from elsewhere: for a lambda that is run without its module."""
        self._fields[path] = Ref(value, NO_NODE)

    def evaluate(self, node: typed.Node, scope: Scope) -> Ref:
        """The expression's value; RuleError with its place."""
        with placed(node.span):
            return self.step(node, scope)

    def step(self, node: typed.Node, scope: Scope) -> Ref:
        self._meter.spend(1, node.span)
        match node:
            case typed.Op():
                operands = [self.step(operand, scope) for operand in node.operands]
                return self._apply(node.name, node.parameters, operands, node.span)
            case typed.Const():
                return self._trace.constant(node.value)
            case typed.Var():
                return scope[node.name]
            case typed.ChainOp():
                return self._chain(node, scope)
            case typed.ShortCircuit():
                return self._short_circuit(node, scope)
            case typed.If():
                return self._if(node, scope)
            case typed.BlockNode():
                return self._block(node, scope)
            case _:
                return self._rarer(node, scope)

    def _rarer(self, node: typed.Rarer, scope: Scope) -> Ref:
        match node:
            case typed.FactGet() | typed.FactsByPrefix():
                return self._get(node, scope)
            case typed.EmptyNode():
                return self._empty(node, scope)
            case typed.Emit():
                return self._emit(node, scope)
            case typed.Aggregate():
                return self._aggregate(node, scope)
            case _:
                return self._leaf(node)

    def _leaf(self, node: typed.Leaf) -> Ref:
        match node:
            case typed.FieldRef(path):
                return self._once(("field", path), lambda: self._trace.field_ref(path, self._fields[path]))
            case typed.TableRef(name):
                rows, draft = self._module.tables[name], name in self._module.drafts
                return self._once(("table", name), lambda: self._trace.table(name, rows, draft=draft))
            case typed.LawDate():
                return self._trace.law_date(self._law(node))
            case typed.Declared():
                return self._declared(node)
            case typed.MissingRequired():
                return self._missing_required(node)

    def value(self, node: typed.Node, scope: Scope) -> Value:
        """Of a lambda's body, for one of many elements: it leaves no steps, so that values are enough."""
        match node:
            case typed.Op():
                self._meter.spend(1, node.span)
                operands = [self.value(operand, scope) for operand in node.operands]
                return self._computed(node.name, node.parameters, operands, node.span)
            case typed.Var():
                self._meter.spend(1, node.span)
                return scope[node.name].value
            case _:
                return self.step(node, scope).value

    def _apply(self, name: str, params: Mapping[str, object], operands: Sequence[Ref], span: Span) -> Ref:
        value = self._computed(name, params, [operand.value for operand in operands], span)
        return self._trace.operation(name, params, operands, value)

    def _computed(self, name: str, params: Mapping[str, object], operands: list[Value], span: Span) -> Value:
        try:
            value = operations.apply_checked(name, params, operands)
        except RuleError as error:
            raise error.at(span) from error.__cause__
        self._measure(value, span)
        return value

    def _measure(self, value: Value, span: Span) -> None:
        """A list costs its length; a number may have fewer digits than the format allows."""
        if isinstance(value, tuple):
            self._meter.spend(len(value), span)
        if self._limits.digits == MAX_DIGITS:
            return
        number = value.value if isinstance(value, Quantity) else arithmetic.decimal_of(value)
        if number is not None and digits_of(number) > self._limits.digits:
            hint = "round(mode, scale, …) shortens a number"
            raise limit_exceeded("a number has too many digits", self._limits.digits, span, hint=hint)

    def _chain(self, node: typed.ChainOp, scope: Scope) -> Ref:
        so_far = self.step(node.first, scope)
        for step in node.steps:
            operand = self.step(step.operand, scope)
            so_far = self._apply(step.operator, {}, (so_far, operand), step.span)
        return so_far

    def _short_circuit(self, node: typed.ShortCircuit, scope: Scope) -> Ref:
        decides = node.operator == "||"
        seen: list[Ref] = []
        for operand in node.operands:
            seen.append(self.step(operand, scope))
            if seen[-1].value is decides:
                break
        return self._trace.operation(node.operator, {}, seen, seen[-1].value)

    def _if(self, node: typed.If, scope: Scope) -> Ref:
        condition = self.step(node.condition, scope)
        holds = condition.value is True
        chosen = self.step(node.then if holds else node.otherwise, scope)
        params = {"branch": "then" if holds else "else"}
        return self._trace.operation("if", params, (condition, chosen), chosen.value)

    def _block(self, node: typed.BlockNode, scope: Scope) -> Ref:
        hidden: Hidden = []
        try:
            for statement in node.statements:
                match statement:
                    case typed.LetNode(name, value):
                        bound = self.step(value, scope)
                        hidden += hidden_by([name], scope)
                        scope[name] = bound
                    case typed.AssertNode():
                        self._assert(statement, scope)
                    case typed.UsableNode():
                        self._usable(statement, scope)
                    case typed.CiteNode(text):
                        self._trace.cite(text)
            return self.step(node.result, scope)
        finally:
            unbind(scope, hidden)

    def _assert(self, node: typed.AssertNode, scope: Scope) -> None:
        condition = self.step(node.condition, scope)
        if condition.value is not True:
            hint = "correct the facts that its condition reads, or the condition"
            raise RuleError("RULE_ASSERTION_FAILED", f"{node.code}: {node.message}", node.span, hint=hint)
        self._trace.assertion(node.code, node.message, condition)

    def _usable(self, node: typed.UsableNode, scope: Scope) -> None:
        condition = self.step(node.condition, scope)
        if condition.value is True:
            self._trace.assertion("USABLE", "", condition)
            return
        detail = self.step(node.detail, scope)
        found = Empty("missing", declared.NOT_USABLE, str(detail.value))
        raise FieldEndedError(self._trace.operation("unusable", {}, (condition, detail), found))

    def _emit(self, node: typed.Emit, scope: Scope) -> Ref:
        stated = self._trace.statement(node, self.step(node.condition, scope))
        said = Statement(node.code, stated.value is True, node.message, node.severity)
        self.result.statements.append(said)
        return stated

    def _declared(self, node: typed.Declared) -> Ref:
        fact_type = declared.READINGS[node.function].fact_type
        fact = self._facts.get(fact_type, node.name)
        ref = self._trace.declared(node, fact_type, fact, declared.answer(node.function, node.word, fact))
        if isinstance(ref.value, Empty):
            raise FieldEndedError(ref)
        return ref

    def _missing_required(self, node: typed.MissingRequired) -> Ref:
        """One step, over the fields of the points that are asked."""
        day = self._law(node)
        self._meter.spend(len(node.law.points), node.span)
        values = {path: or_none(each.value) for path, each in self._fields.items()}
        asked = asked_points(node.law, values, day)
        params = {"asked": {point: list(fields) for point, fields in asked.items()}, "law": node.law.title}
        below = [self._trace.law_date(day), *[self._fields[path] for path in paths_of(asked)]]
        return self._trace.operation("missingRequired", params, below, count_missing(asked, values))

    def _once(self, key: tuple[object, ...], read: Callable[[], Ref]) -> Ref:
        """To read a table, a field or a list of facts again is the same step: it is not written again."""
        if not self._trace.on:
            return read()
        if key not in self._read:
            self._read[key] = read()
        return self._read[key]

    def _law(self, node: typed.LawDate | typed.MissingRequired) -> date:
        if self._law_date is None:
            hint = 'give one with the compile; in a test, write lawDate("2027-02-18"); among the facts'
            raise RuleError("CONFIG_MISSING", "no law date was given", node.span, hint=hint)
        return self._law_date

    def _empty(self, node: typed.EmptyNode, scope: Scope) -> Ref:
        why = [self.step(node.detail, scope)] if node.detail is not None else []
        found = Empty(node.kind, node.reason, *[str(detail.value) for detail in why])
        return self._trace.operation("empty", {"kind": node.kind, "reason": node.reason}, why, found)

    def _get(self, node: typed.FactGet | typed.FactsByPrefix, scope: Scope) -> Ref:
        """Constant names need no steps of their own: the fact's step names them."""
        key = node.fact_key if isinstance(node, typed.FactGet) else node.prefix
        names: list[Ref] = []
        match node.fact_type, key:
            case typed.Const(value=type_name), typed.Const(value=key_name):
                texts = str(type_name), str(key_name)
            case _:
                names = [self.step(node.fact_type, scope), self.step(key, scope)]
                texts = str(names[0].value), str(names[1].value)
        if isinstance(node, typed.FactGet):
            return self._trace.fact(*texts, self._facts.get(*texts), names)
        steps = [name.node for name in names]
        return self._once(("facts", *texts, *steps), lambda: self._list(*texts, names, node.span))

    def _list(self, fact_type: str, prefix: str, names: list[Ref], span: Span) -> Ref:
        found = self._facts.by_prefix(fact_type, prefix)
        self._meter.spend(len(found), span)
        return self._trace.facts(fact_type, prefix, found, names)

    def _aggregate(self, node: typed.Aggregate, scope: Scope) -> Ref:
        operands = [self.step(each, scope) for each in (node.items, node.start) if each is not None]
        items, start = operands[0].value, operands[-1].value  # only a fold looks at its start
        params = dict(node.parameters)
        if node.function is not None:
            operands += [self.step(capture, scope) for capture in node.function.captures]
            params |= lambda_params(node.function)
        if node.name != "count":
            self._measure(items, node.span)
        call = Call(self.value, node.function, scope, node.span)
        hidden = hidden_by(call.names, scope)
        tracing, self._trace.on = self._trace.on, False
        try:
            value = aggregate.run(node.name, params, items, start, call)
        except RuleError as error:
            raise error.at(node.span) from error.__cause__
        finally:
            self._trace.on = tracing
            unbind(scope, hidden)
        self._measure(value, node.span)
        return self._trace.operation(node.name, params, operands, value)
