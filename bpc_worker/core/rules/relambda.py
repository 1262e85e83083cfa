"""A lambda out of a proof, from its text: checked and run again, on values that the verifier has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.arguments import Arguments
from bpc_worker.core.rules.evaluate import Call, Evaluator
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.lists import check_lambda
from bpc_worker.core.rules.parser import parse_lambda
from bpc_worker.core.rules.scope import FieldShape, Scope, Warnings, World
from bpc_worker.core.rules.source import NOWHERE, Limits, unchecked
from bpc_worker.core.rules.trace import NO_NODE, Meter, Ref, lambda_params
from bpc_worker.core.rules.type_text import type_from_text
from bpc_worker.core.rules.typecheck import check
from bpc_worker.core.rules.types import BOOL, Type
from bpc_worker.core.rules.values import Value

FIELD, TABLE, LAW_DATE = "field ", "table ", "lawDate"
PARAMETERS = MappingProxyType({"map": 1, "filter": 1, "fold": 2})

Named = tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A lambda that is of the language, and is what its step says of it; none for a sum."""

    lambda_: typed.LambdaNode | None = None
    takes: Named = ()
    uses: Named = ()


def rebuilt(aggregate: str, params: Mapping[str, object], limits: Limits) -> Rebuilt:
    """The lambda of a map, filter or fold; RuleError when text, parameters and types do not fit."""
    text, takes, uses = params["lambda"], _named(params, "takes"), _named(params, "uses")
    written = parse_lambda(str(text), limits)
    if not len(written.parameters) == len(takes) == PARAMETERS[aggregate]:
        raise unchecked(f"the lambda of a {aggregate} takes {PARAMETERS[aggregate]} values")
    wanted = {"filter": BOOL, "fold": takes[0][1]}.get(aggregate)
    call = Arguments(syntax.Call(aggregate, (), NOWHERE, NOWHERE), _scope(str(text), uses, limits), check)
    function = check_lambda(written, tuple(kind for _, kind in takes), call, wanted)
    if lambda_params(function) != dict(params):
        raise unchecked("the lambda takes or uses other values than its step says")
    return Rebuilt(function, takes, uses)


def ready(found: Rebuilt, captured: Sequence[Value], limits: Limits, meter: Meter) -> Call:
    """The lambda, to be called with values; `captured` in the order of its uses."""
    given = dict(zip([name for name, _ in found.uses], captured, strict=True))
    rows = {name.removeprefix(TABLE): value for name, value in given.items() if name.startswith(TABLE)}
    tables = {name: table for name, table in rows.items() if isinstance(table, Mapping)}
    law_date = given.get(LAW_DATE)
    evaluator = _Alone(tables, law_date if isinstance(law_date, date) else None, limits, meter)
    for name, value in given.items():
        if name.startswith(FIELD):
            evaluator.provide(name.removeprefix(FIELD), value)
    return Call(evaluator.value, found.lambda_, {name: Ref(given[name], NO_NODE) for name in given}, NOWHERE)


class _Alone(Evaluator):
    """Evaluates a lambda without its module; what it does counts among all that is done for the proof."""

    def __init__(
        self, tables: Mapping[str, Mapping[str, Value]], law_date: date | None, limits: Limits, meter: Meter
    ) -> None:
        module = typed.TypedModule(
            source="", fields={}, order=(), tables=tables, tests=(), warnings=(), audiences=(), statements={}
        )
        super().__init__(module, FactSet([]), law_date, limits, prove=False, meter=meter)


def _named(params: Mapping[str, object], key: str) -> Named:
    listed = params[key]
    found = []
    for entry in listed if isinstance(listed, list) else [None]:
        match entry:
            case [str(name), str(kind)]:
                found.append((name, type_from_text(kind)))
            case _:
                raise unchecked(f"the lambda's '{key}' is no list of names and types")
    return tuple(found)


def _scope(text: str, uses: Named, limits: Limits) -> Scope:
    world = World(
        source=f"f({text})",  # as parse_lambda reads it: places count from there
        fields={path: FieldShape(kind, may_be_empty=False) for path, kind in _kept(uses, FIELD)},
        tables=dict(_kept(uses, TABLE)),
        warnings=Warnings(),
        limits=limits,
    )
    return Scope(world, variables={name: kind for name, kind in uses if " " not in name})


def _kept(uses: Named, prefix: str) -> Named:
    return tuple((name.removeprefix(prefix), kind) for name, kind in uses if name.startswith(prefix))
