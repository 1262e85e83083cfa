"""A lambda out of a proof, from its text: checked and run again, on values that the verifier has."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.arguments import Arguments
from bpc_worker.core.rules.evaluate import NO_NODE, Call, Evaluator, Ref
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.lists import check_lambda
from bpc_worker.core.rules.parser import parse_lambda
from bpc_worker.core.rules.scope import FieldShape, Scope, Warnings, World
from bpc_worker.core.rules.source import NOWHERE, Limits, RuleError
from bpc_worker.core.rules.type_text import type_from_text
from bpc_worker.core.rules.typecheck import check
from bpc_worker.core.rules.types import Type
from bpc_worker.core.rules.values import Value

_WRAPPED = "f({})"


def callable_from(
    params: Mapping[str, object], captured: Sequence[Value], limits: Limits
) -> Callable[..., Value]:
    """The lambda of an aggregate's step, ready to be called with values. RuleError when it makes no sense."""
    text, takes, uses = str(params.get("lambda")), _named(params, "takes"), _named(params, "uses")
    if len(uses) != len(captured):
        raise RuleError("RULE_TYPE_ERROR", "the lambda names other values than it has")
    given = {name: (kind, value) for (name, kind), value in zip(uses, captured, strict=True)}
    scope = _scope(text, {name: kind for name, (kind, _) in given.items()})
    call = syntax.Call("lambda", (), NOWHERE, NOWHERE)
    function = check_lambda(
        parse_lambda(text, limits), tuple(kind for _, kind in takes), Arguments(call, scope, check)
    )
    return _ready(function, given, limits)


def _named(params: Mapping[str, object], key: str) -> list[tuple[str, Type]]:
    listed = params.get(key)
    if not isinstance(listed, list):
        raise RuleError("RULE_TYPE_ERROR", f"the lambda's '{key}' is no list")
    found = []
    for entry in listed:
        match entry:
            case [str(name), str(kind)]:
                found.append((name, type_from_text(kind)))
            case _:
                raise RuleError("RULE_TYPE_ERROR", f"the lambda's '{key}' is no list of names and types")
    return found


def _split(given: Mapping[str, Type], word: str) -> dict[str, Type]:
    return {
        name.removeprefix(f"{word} "): kind for name, kind in given.items() if name.startswith(f"{word} ")
    }


def _scope(text: str, given: Mapping[str, Type]) -> Scope:
    world = World(
        source=_WRAPPED.format(text),
        fields={path: FieldShape(kind, may_be_empty=False) for path, kind in _split(given, "field").items()},
        tables=_split(given, "table"),
        warnings=Warnings(),
    )
    variables = {name: kind for name, kind in given.items() if " " not in name and name != "lawDate"}
    return Scope(world, variables=variables)


def _ready(
    function: typed.LambdaNode, given: Mapping[str, tuple[Type, Value]], limits: Limits
) -> Callable[..., Value]:
    tables: dict[str, Mapping[str, Value]] = {}
    fields: dict[str, Value] = {}
    variables: dict[str, Ref] = {}
    law_date: date | None = None
    for name, (_, value) in given.items():
        if name == "lawDate" and isinstance(value, date):
            law_date = value
        elif name.startswith("table ") and isinstance(value, Mapping):
            tables[name.removeprefix("table ")] = value
        elif name.startswith("field "):
            fields[name.removeprefix("field ")] = value
        else:
            variables[name] = Ref(value, NO_NODE)
    module = typed.TypedModule(
        source="", fields=MappingProxyType({}), order=(), tables=tables, table_types={}, tests=(), warnings=()
    )
    evaluator = Evaluator(module, FactSet([]), law_date, limits, prove=False)
    for path, value in fields.items():
        evaluator.provide(path, value)
    return Call(evaluator, function, variables, NOWHERE)
