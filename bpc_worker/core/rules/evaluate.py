"""Typed module + facts -> values, and a proof of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from bpc_worker.core import canonical_json, proof
from bpc_worker.core.hashing import sha256_hex
from bpc_worker.core.proof import ProofBuilder
from bpc_worker.core.rules import operations, typed
from bpc_worker.core.rules.aggregate import aggregate
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.source import Limits, RuleError, Span, limit_exceeded
from bpc_worker.core.rules.types import show
from bpc_worker.core.rules.values import Empty, Fact, Value, encoded

NO_NODE = -1


class Ref(NamedTuple):
    """A value, and the step of the proof that gives it."""

    value: Value
    node: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A compliance statement of the passport."""

    code: str
    holds: bool
    message: str


@dataclass(slots=True)
class Evaluated:
    fields: dict[str, Value] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)


Scope = dict[str, Ref]


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
    ) -> None:
        self._module = module
        self._facts = facts
        self._law_date = law_date
        self._limits = limits or Limits()
        self._steps = 0
        self._proving = prove
        self._fields: dict[str, Ref] = {}
        self._beside: list[int] = []  # asserts and statements of the field at hand
        self._cited: list[str] = []
        self.proof = ProofBuilder()
        self.result = Evaluated()

    def run(self) -> Evaluated:
        for path in self._module.order:
            self._field(self._module.fields[path])
        return self.result

    def provide(self, path: str, value: Value) -> None:
        """A field's value from elsewhere: for a lambda that is run without its module."""
        self._fields[path] = Ref(value, NO_NODE)

    def _field(self, wanted: typed.TypedField) -> None:
        self._beside, self._cited = [], []
        ref = self.evaluate(wanted.body, {})
        params: dict[str, object] = {"path": wanted.path, "type": show(wanted.type)}
        if wanted.audiences != ("public",):
            params["audiences"] = list(wanted.audiences)
        if self._cited:
            params["cites"] = self._cited
        children = (ref.node, *dict.fromkeys(self._beside))
        data = {"op": "field", "params": params, "result": encoded(ref.value)}
        node = self._node(proof.OP, data, children)
        self.proof.fields[wanted.path] = node
        self._fields[wanted.path] = Ref(ref.value, node)
        self.result.fields[wanted.path] = ref.value

    def evaluate(self, node: typed.Node, scope: Scope) -> Ref:
        self._steps += 1
        if self._steps > self._limits.steps:
            raise limit_exceeded("the evaluation takes too many steps", self._limits.steps, node.span)
        match node:
            case typed.Op():
                operands = tuple(self.evaluate(operand, scope) for operand in node.operands)
                return self._apply(node.name, node.parameters, operands, node.span)
            case typed.Const(value):
                return Ref(
                    value, self._node(proof.CONST, {"value": encoded(value)}) if self._proving else NO_NODE
                )
            case typed.Var(name):
                return scope[name]
            case typed.FieldRef():
                return self._field_ref(node)
            case typed.ChainOp():
                return self._chain(node, scope)
            case typed.ShortCircuit():
                return self._short_circuit(node, scope)
            case typed.If():
                return self._if(node, scope)
            case typed.BlockNode():
                return self._block(node, scope)
            case _:
                return self._rare(node, scope)

    def _rare(self, node: typed.Node, scope: Scope) -> Ref:
        match node:
            case typed.FactGet():
                return self._fact_get(node, scope)
            case typed.FactsByPrefix():
                return self._facts_by_prefix(node, scope)
            case typed.TableRef(name):
                table = self._module.tables[name]
                return Ref(table, self._node(proof.CONST, {"table": name, "value": encoded(table)}))
            case typed.LawDate():
                return self._law(node)
            case typed.EmptyNode(kind, reason):
                why = self.evaluate(reason, scope)
                return self._op("empty", {"kind": kind}, (why,), Empty(kind, str(why.value)))
            case typed.Emit():
                return self._emit(node, scope)
            case typed.Aggregate():
                return self._aggregate(node, scope)
            case _:
                raise AssertionError(node)

    def _node(self, kind: str, data: Mapping[str, object], children: tuple[int, ...] = ()) -> int:
        return self.proof.add(kind, data, children) if self._proving else NO_NODE

    def _op(self, name: str, params: Mapping[str, object], operands: tuple[Ref, ...], value: Value) -> Ref:
        if not self._proving:
            return Ref(value, NO_NODE)
        data: dict[str, object] = {"op": name, "result": encoded(value)}
        if params:
            data["params"] = dict(params)
        return Ref(value, self.proof.add(proof.OP, data, tuple(operand.node for operand in operands)))

    def _apply(self, name: str, params: Mapping[str, object], operands: tuple[Ref, ...], span: Span) -> Ref:
        try:
            value = operations.apply(name, params, tuple(operand.value for operand in operands))
        except RuleError as error:
            raise RuleError(error.code, error.message, span, hint=error.hint) from error
        return self._op(name, params, operands, value)

    def _chain(self, node: typed.ChainOp, scope: Scope) -> Ref:
        so_far = self.evaluate(node.first, scope)
        for step in node.steps:
            operand = self.evaluate(step.operand, scope)
            so_far = self._apply(step.operator, {}, (so_far, operand), step.span)
        return so_far

    def _short_circuit(self, node: typed.ShortCircuit, scope: Scope) -> Ref:
        decides = node.operator == "||"
        seen: list[Ref] = []
        for operand in node.operands:
            seen.append(self.evaluate(operand, scope))
            if seen[-1].value is decides:
                break
        return self._op(node.operator, {}, tuple(seen), seen[-1].value)

    def _if(self, node: typed.If, scope: Scope) -> Ref:
        condition = self.evaluate(node.condition, scope)
        branch = "then" if condition.value is True else "else"
        chosen = self.evaluate(node.then if condition.value is True else node.otherwise, scope)
        return self._op("if", {"branch": branch}, (condition, chosen), chosen.value)

    def _block(self, node: typed.BlockNode, scope: Scope) -> Ref:
        inner = dict(scope)
        for statement in node.statements:
            match statement:
                case typed.LetNode(name, value):
                    inner[name] = self.evaluate(value, inner)
                case typed.AssertNode():
                    self._assert(statement, inner)
                case typed.CiteNode(text):
                    self._cited.append(text)
        return self.evaluate(node.result, inner)

    def _assert(self, node: typed.AssertNode, scope: Scope) -> None:
        condition = self.evaluate(node.condition, scope)
        if condition.value is not True:
            raise RuleError("RULE_ASSERTION_FAILED", f"{node.code}: {node.message}", node.span)
        if self._proving:
            data = {"code": node.code, "message": node.message, "result": True}
            self._beside.append(self.proof.add(proof.ASSERT, data, (condition.node,)))

    def _emit(self, node: typed.Emit, scope: Scope) -> Ref:
        condition = self.evaluate(node.condition, scope)
        holds = condition.value is True
        self.result.statements.append(Statement(node.code, holds, node.message))
        data = {"code": node.code, "message": node.message, "result": holds}
        number = self._node(proof.COMPLIANCE_EMIT, data, (condition.node,))
        self._beside.append(number)
        return Ref(holds, number)

    def _field_ref(self, node: typed.FieldRef) -> Ref:
        known = self._fields[node.path]
        value = None if isinstance(known.value, Empty) else known.value
        if not self._proving:
            return Ref(value, NO_NODE)
        data = {"path": node.path, "result": encoded(value)}
        return Ref(value, self.proof.add(proof.FIELD_REF, data, (known.node,)))

    def _law(self, node: typed.LawDate) -> Ref:
        if self._law_date is None:
            raise RuleError(
                "CONFIG_MISSING", "no law date was given", node.span, hint="give one with the compile"
            )
        data = {"law_date": True, "value": encoded(self._law_date)}
        return Ref(self._law_date, self._node(proof.CONST, data))

    def _named(self, nodes: tuple[typed.Node, ...], scope: Scope) -> tuple[list[str], tuple[int, ...]]:
        """Texts that name facts; their steps only where they were computed."""
        refs = [self.evaluate(node, scope) for node in nodes]
        constant = all(isinstance(node, typed.Const) for node in nodes)
        return [str(ref.value) for ref in refs], () if constant else tuple(ref.node for ref in refs)

    def _fact_get(self, node: typed.FactGet, scope: Scope) -> Ref:
        self._proving, proving = _silent((node.fact_type, node.fact_key), self._proving), self._proving
        (fact_type, fact_key), children = self._named((node.fact_type, node.fact_key), scope)
        self._proving = proving
        found = self._facts.get(fact_type, fact_key)
        data = {
            "fact_key": fact_key,
            "fact_type": fact_type,
            "payload_hash": None if found is None else found.payload_hash,
        }
        return Ref(found, self._node(proof.FACT_GET, data, children))

    def _facts_by_prefix(self, node: typed.FactsByPrefix, scope: Scope) -> Ref:
        self._proving, proving = _silent((node.fact_type, node.prefix), self._proving), self._proving
        (fact_type, prefix), children = self._named((node.fact_type, node.prefix), scope)
        self._proving = proving
        found = self._facts.by_prefix(fact_type, prefix)
        self._steps += len(found)
        data = {"count": len(found), "fact_type": fact_type, "list": facts_hash(found), "prefix": prefix}
        return Ref(found, self._node(proof.FACT_GET, data, children))

    def _aggregate(self, node: typed.Aggregate, scope: Scope) -> Ref:
        items = self.evaluate(node.items, scope)
        start = None if node.start is None else self.evaluate(node.start, scope)
        params: dict[str, object] = dict(node.parameters)
        captured: list[Ref] = []
        if node.function is not None:
            captured = [self.evaluate(capture, scope) for capture in node.function.captures]
            params |= lambda_params(node.function)
        proving, self._proving = self._proving, False
        try:
            value = aggregate(
                node, items.value, None if start is None else start.value, self._caller(node, scope)
            )
        finally:
            self._proving = proving
        operands = (items, *(() if start is None else (start,)), *captured)
        return self._op(node.name, params, operands, value)

    def _caller(self, node: typed.Aggregate, scope: Scope) -> "Call":
        return Call(self, node.function, scope, node.span)


def _silent(names: tuple[typed.Node, ...], proving: bool) -> bool:  # noqa: FBT001 - the state as it is
    """Constant names need no steps of their own: the fact's step names them."""
    return proving and not all(isinstance(name, typed.Const) for name in names)


class Call:
    """A lambda, ready to be called with values."""

    def __init__(
        self, evaluator: Evaluator, function: typed.LambdaNode | None, scope: Scope, span: Span
    ) -> None:
        self._evaluator = evaluator
        self._function = function
        self._scope = scope
        self.span = span

    def __call__(self, *values: Value) -> Value:
        if self._function is None:
            raise AssertionError("this function has no lambda")
        inner = dict(self._scope)
        for (name, _), value in zip(self._function.parameters, values, strict=True):
            inner[name] = Ref(value, NO_NODE)
        return self._evaluator.evaluate(self._function.body, inner).value


def lambda_params(function: typed.LambdaNode) -> dict[str, object]:
    """What a proof keeps of a lambda: its text, and the names and types of what it is given."""
    return {
        "lambda": function.text,
        "takes": [[name, show(kind)] for name, kind in function.parameters],
        "uses": [[capture_name(capture), show(capture.type)] for capture in function.captures],
    }


def capture_name(capture: typed.Capture) -> str:
    match capture:
        case typed.Var(name):
            return name
        case typed.FieldRef(path):
            return f"field {path}"
        case typed.TableRef(name):
            return f"table {name}"
        case typed.LawDate():
            return "lawDate"


def facts_hash(facts: tuple[Fact, ...]) -> str:
    """Binds type, key and payload hash of each, in order of key; the same as of any other list."""
    return sha256_hex(canonical_json.encode([encoded(fact) for fact in facts]))
