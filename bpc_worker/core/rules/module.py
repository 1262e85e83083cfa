"""Rule text -> checked module: parse, types, tables, order. Once per version; nothing is run."""

from collections.abc import Mapping

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.fits import fit
from bpc_worker.core.rules.graph import evaluation_order, find_cycle
from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.scope import FieldShape, Scope, Warnings, World
from bpc_worker.core.rules.source import Limits, RuleError, Span, place
from bpc_worker.core.rules.typecheck import check
from bpc_worker.core.rules.types import EMPTY, Type, show
from bpc_worker.core.rules.values import Value


def load(source: str, limits: Limits | None = None) -> typed.TypedModule:
    """The module, or the first RuleError in it."""
    tree = parse(source, limits)
    _unique([(table.name, table.name_span) for table in tree.tables], "table")
    _unique([(field.path, field.path_span) for field in tree.fields], "field")
    _no_field_inside_another(tree)
    warnings = Warnings()
    world = World(
        source=source,
        fields={field.path: FieldShape(field.type, _may_be_empty(field.body)) for field in tree.fields},
        tables={table.name: table.type for table in tree.tables},
        warnings=warnings,
    )
    tables = {table.name: _table(table, world) for table in tree.tables}
    fields = {field.path: _field(field, world) for field in tree.fields}
    order = _order(fields)
    _warn_unused_tables(tree, fields, warnings)
    return typed.TypedModule(
        source=source,
        fields=fields,
        order=order,
        tables=tables,
        table_types=world.tables,
        tests=(*tree.examples, *tree.properties),
        warnings=tuple(_shown(source, warnings)),
    )


def _unique(names: list[tuple[str, Span]], what: str) -> None:
    seen: set[str] = set()
    for name, span in names:
        if name in seen:
            raise RuleError("RULE_TYPE_ERROR", f"two {what}s '{name}'", span)
        seen.add(name)


def _no_field_inside_another(tree: syntax.Module) -> None:
    """`a` and `a.b` cannot both be fields: in the passport, `a` would be a value and an object."""
    paths = {field.path for field in tree.fields}
    for field in tree.fields:
        parts = field.path.split(".")
        for length in range(1, len(parts)):
            outer = ".".join(parts[:length])
            if outer in paths:
                message = f"'{field.path}' lies inside the field '{outer}'"
                raise RuleError("RULE_TYPE_ERROR", message, field.path_span, hint="rename one of them")


def _may_be_empty(body: syntax.Expression) -> bool:
    """Whether some branch of the result says withheld, notApplicable or missing."""
    match body:
        case syntax.Call(function=name):
            return name in {"withheld", "notApplicable", "missing"}
        case syntax.Conditional(then=then, otherwise=otherwise):
            return _may_be_empty(then) or _may_be_empty(otherwise)
        case syntax.Block(result=result):
            return _may_be_empty(result)
        case _:
            return False


def _table(table: syntax.Table, world: World) -> Mapping[str, Value]:
    rows: dict[str, Value] = {}
    for key, written in table.rows:
        node = fit(check(written, Scope(world)), table.type)
        if node is None or not isinstance(node, typed.Const):
            message = f"a row of the table is a plain value of type {show(table.type)}"
            raise RuleError("RULE_TYPE_ERROR", message, written.span)
        rows[key] = node.value
    return rows


def _field(field: syntax.Field, world: World) -> typed.TypedField:
    scope = Scope(world)
    body = check(field.body, scope)
    fitted = _fitted(body, field.type)
    if fitted is None:
        message = f"the field is {show(field.type)}, but its expression is {show(body.type)}"
        raise RuleError("RULE_TYPE_ERROR", message, field.body.span)
    return typed.TypedField(
        path=field.path,
        type=field.type,
        audiences=field.audiences,
        body=fitted,
        uses=tuple(sorted(scope.fields_used)),
        may_be_empty=_may_be_empty(field.body),
        span=field.span,
    )


def _fitted(body: typed.Node, wanted: Type) -> typed.Node | None:
    """Like fit, but an empty result may stand for any type, on its own or in a branch."""
    if body.type == EMPTY:
        return body
    match body:
        case typed.If(condition, then, otherwise, _, span):
            left, right = _fitted(then, wanted), _fitted(otherwise, wanted)
            return None if left is None or right is None else typed.If(condition, left, right, wanted, span)
        case typed.BlockNode(statements, result, _, span):
            inner = _fitted(result, wanted)
            return None if inner is None else typed.BlockNode(statements, inner, wanted, span)
        case _:
            return fit(body, wanted)


def _order(fields: Mapping[str, typed.TypedField]) -> tuple[str, ...]:
    uses = {path: field.uses for path, field in fields.items()}
    order = evaluation_order(uses)
    stuck = set(uses) - set(order)
    if stuck:
        cycle = find_cycle(uses, stuck)
        raise RuleError(
            "RULE_CYCLE_DETECTED", f"fields need each other: {' -> '.join(cycle)}", fields[cycle[0]].span,
            hint="one of them must not use the others",
        )  # fmt: skip
    return tuple(order)


def _warn_unused_tables(
    tree: syntax.Module, fields: Mapping[str, typed.TypedField], warnings: Warnings
) -> None:
    text = repr([field.body for field in fields.values()])
    for table in tree.tables:
        if f"TableRef(name={table.name!r}" not in text:
            warnings.add(f"the table '{table.name}' is never used", table.name_span)


def _shown(source: str, warnings: Warnings) -> list[str]:
    shown = []
    for message, span in warnings.found:
        at = place(source, span)
        shown.append(f"line {at.line}, column {at.column}: {message}")
    return shown
