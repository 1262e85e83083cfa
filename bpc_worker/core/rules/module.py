"""Rule text -> checked module: parse, types, tables, order. Once per version; nothing is run."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bpc_worker.core.rules import operations, syntax, typed
from bpc_worker.core.rules.audiences import check_declared, check_paths, declared, statement_audiences
from bpc_worker.core.rules.check_law import check_law
from bpc_worker.core.rules.check_tests import check_example, check_property
from bpc_worker.core.rules.graph import evaluation_order, find_cycle
from bpc_worker.core.rules.parse_tests import EMPTY_KINDS
from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.scope import FieldShape, Scope, Stated, Warnings, World, two_statements
from bpc_worker.core.rules.source import Limits, RuleError, Span, quoted, too_deep_a_stack
from bpc_worker.core.rules.typecheck import check_as, check_result
from bpc_worker.core.rules.types import MapType
from bpc_worker.core.rules.values import Value
from bpc_worker.core.rules.vocabulary import can_end


def load(source: str, limits: Limits | None = None) -> typed.TypedModule:
    """The module, or the first RuleError in it."""
    try:
        limits = limits or Limits()
        return _checked(parse(source, limits), source, limits)
    except RecursionError:
        raise too_deep_a_stack() from None


def _checked(tree: syntax.Module, source: str, limits: Limits) -> typed.TypedModule:
    _check_names(tree)
    law = check_law(tree, declared(tree))
    world = World(
        source=source,
        fields={field.path: FieldShape(field.type, _may_be_empty(field.body)) for field in tree.fields},
        tables={table.name: MapType(table.type) for table in tree.tables},
        warnings=Warnings(),
        limits=limits,
        law=law,
    )
    tables = {table.name: _table(table, world) for table in tree.tables}
    stated: dict[str, dict[str, Stated]] = {}  # by field
    fields: dict[str, typed.TypedField] = {}
    for field in tree.fields:
        scope = Scope(world)
        fields[field.path] = _field(field, scope)
        stated[field.path] = _only_here(scope.emitted, stated)
    order = _order(fields, tree)
    tests = _tests(tree, replace(world, in_tests=True))
    for table in tree.tables:
        if table.name not in world.tables_used:
            world.warnings.add(f"the table {quoted(table.name)} is never used", table.name_span)
    return typed.TypedModule(
        source=source,
        fields=fields,
        order=order,
        tables=tables,
        tests=tests,
        warnings=world.warnings.shown(source),
        audiences=declared(tree),
        statements=statement_audiences(stated, fields, declared(tree)),
        drafts=frozenset(table.name for table in tree.tables if table.draft),
        law=law,
    )


def _only_here(
    emitted: dict[str, Stated], elsewhere: Mapping[str, Mapping[str, Stated]]
) -> dict[str, Stated]:
    for code, stated in emitted.items():
        if any(code in others for others in elsewhere.values()):
            raise two_statements(code, stated)
    return emitted


def _check_names(tree: syntax.Module) -> None:
    _unique(((table.name, table.name_span) for table in tree.tables), "table")
    _unique(((field.path, field.path_span) for field in tree.fields), "field")
    tests: tuple[syntax.Example | syntax.Property, ...] = (*tree.examples, *tree.properties)
    _unique(((test.name, test.span) for test in tests), "test")
    _no_field_inside_another(tree)
    check_paths(tree)
    check_declared(tree)


def _unique(names: Iterable[tuple[str, Span]], what: str) -> None:
    seen: set[str] = set()
    for name, span in names:
        if name in seen:
            raise RuleError("RULE_TYPE_ERROR", f"two {what}s {quoted(name)}", span, hint="rename one of them")
        seen.add(name)


def _no_field_inside_another(tree: syntax.Module) -> None:
    """`a` and `a.b` cannot both be fields: in the passport, `a` would be a value and an object."""
    paths = {field.path for field in tree.fields}
    for field in tree.fields:
        parts = field.path.split(".")
        for length in range(1, len(parts)):
            outer = ".".join(parts[:length])
            if outer in paths:
                message = f"{quoted(field.path)} lies inside the field {quoted(outer)}"
                raise RuleError("RULE_TYPE_ERROR", message, field.path_span, hint="rename one of them")


def _may_be_empty(body: syntax.Expression) -> bool:
    """Whether some branch of the result says missing or the like, or what it reads may not be there."""
    return can_end(body) or _says_empty(body)


def _says_empty(body: syntax.Expression) -> bool:
    match body:
        case syntax.Call(function=name):
            return name in EMPTY_KINDS
        case syntax.Conditional(then=then, otherwise=otherwise):
            return _says_empty(then) or _says_empty(otherwise)
        case syntax.Block(result=result):
            return _says_empty(result)
        case _:
            return False


def _table(table: syntax.Table, world: World) -> Mapping[str, Value]:
    return {
        key: _constant(check_as(written, table.type, Scope(world), "a row of this table"))
        for key, written in table.rows
    }


def _constant(node: typed.Node) -> Value:
    """The value of a node that needs nothing but itself."""
    match node:
        case typed.Const(value):
            return value
        case typed.Op(name="record" | "round" as name, parameters=parameters, operands=operands):
            try:
                return operations.apply(name, parameters, tuple(map(_constant, operands)))
            except RuleError as error:
                raise error.at(node.span) from error.__cause__
        case _:
            message = "a table holds plain values"
            raise RuleError("RULE_TYPE_ERROR", message, node.span, hint="compute in a field, not in a table")


def _field(field: syntax.Field, scope: Scope) -> typed.TypedField:
    return typed.TypedField(
        path=field.path,
        type=field.type,
        audiences=field.audiences,
        body=check_result(field.body, field.type, scope),
        uses=tuple(sorted(scope.fields_used)),
        may_be_empty=_may_be_empty(field.body),
        span=field.span,
    )


def _tests(tree: syntax.Module, world: World) -> tuple[typed.Example | typed.Property, ...]:
    examples = [check_example(each, world) for each in tree.examples]
    properties = [check_property(each, world) for each in tree.properties]
    return (*examples, *properties)


_LONGEST_CYCLE = 20


def _order(fields: Mapping[str, typed.TypedField], tree: syntax.Module) -> tuple[str, ...]:
    uses = {path: field.uses for path, field in fields.items()}
    order = evaluation_order(uses)
    stuck = set(uses) - set(order)
    if stuck:
        cycle = find_cycle(uses, stuck)
        [span] = [field.path_span for field in tree.fields if field.path == cycle[0]]
        shown = cycle if len(cycle) <= _LONGEST_CYCLE else [*cycle[:_LONGEST_CYCLE], "…", cycle[0]]
        message = f"fields need each other: {' -> '.join(shown)}"
        hint = "one of them must not use the others"
        raise RuleError("RULE_CYCLE_DETECTED", message, span, hint=hint)
    return tuple(order)
