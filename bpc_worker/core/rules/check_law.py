"""The `law` block, checked against the fields that it speaks of."""

from collections.abc import Mapping
from datetime import date

from bpc_worker.core.base.audience import NOBODY
from bpc_worker.core.base.calendar import add_months
from bpc_worker.core.rules import law_syntax, syntax
from bpc_worker.core.rules.law import CONDITION, Act, Asked, Law, Point, Since, names_in
from bpc_worker.core.rules.source import RuleError, Span, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import BOOL, TEXT, Type, show

_Fields = Mapping[str, syntax.Field]
_INTRODUCE = "introduce it: field path: Type = expression;"


def check_law(tree: syntax.Module, declared: tuple[str, ...]) -> Law | None:
    """The law of a rule text, if it has one; RuleError where it speaks of what is not there."""
    block = tree.law
    if block is None:
        return None
    fields = {field.path: field for field in tree.fields}
    _check_type(block.class_field, TEXT, fields, block.class_span)
    acts: dict[str, Act] = {}
    for act in block.acts:
        if act.name in acts:
            raise _wrong(f"two acts {quoted(act.name)}", act.span, "rename one of them")
        acts[act.name] = Act(act.name, act.title, act.adopted)
    points: dict[str, Point] = {}
    classes = {row.battery_class for point in block.points for row in point.rows}
    for written in block.points:
        if written.id in points:
            raise _wrong(f"two points {quoted(written.id)}", written.span, "give one of them another id")
        _check_audiences(written, fields, declared)
        _check_classes(written, classes)
        asked = {row.battery_class: _asked(row, acts, fields) for row in written.rows}
        points[written.id] = Point(
            written.id, written.name, tuple(path for path, _ in written.fields), written.source,
            written.basis, written.gate, written.audiences, {each: asked[each] for each in sorted(asked)},
        )  # fmt: skip
    return Law(block.title, block.class_field, acts, tuple(points.values()))


def _check_type(path: str, wanted: Type, fields: _Fields, span: Span) -> None:
    field = fields.get(path)
    if field is None:
        hint = did_you_mean(path, fields, f"introduce it: field {path}: {show(wanted)} = …;")
        raise _wrong(f"unknown field {quoted(path)}", span, hint)
    if field.type != wanted:
        message = f"the law wants {quoted(path)} to be {show(wanted)}, not {show(field.type)}"
        raise _wrong(message, span, f"declare it so: field {path}: {show(wanted)} = …;")


def _check_audiences(point: law_syntax.LawPoint, fields: _Fields, declared: tuple[str, ...]) -> None:
    unknown = sorted(set(point.audiences).difference(declared))
    if unknown:
        message = f"{quoted(unknown[0])} is none of the audiences that this text declares"
        raise _wrong(message, point.span, f"declared are {', '.join(declared)}")
    for path, span in point.fields:
        field = fields.get(path)
        if field is None:
            raise _wrong(f"unknown field {quoted(path)}", span, did_you_mean(path, fields, _INTRODUCE))
        if field.audiences not in ((), point.audiences):
            shown = _listed(field.audiences), _listed(point.audiences)
            message = f"{quoted(path)} is for {shown[0]}, the point for {shown[1]}"
            raise _wrong(message, span, "a point and its fields are for the same audiences, or nobody")


def _listed(audiences: tuple[str, ...]) -> str:
    return ", ".join(audiences) or NOBODY


def _check_classes(point: law_syntax.LawPoint, classes: set[str]) -> None:
    lacking = sorted(classes.difference(row.battery_class for row in point.rows))
    if lacking:
        message = f"the point {quoted(point.id)} says nothing of {quoted(lacking[0])}"
        raise _wrong(message, point.span, f"add a row: {lacking[0]}: not;")


def _asked(row: law_syntax.LawRow, acts: Mapping[str, Act], fields: _Fields) -> Asked:
    if row.since is not None and row.since.act is not None and row.since.act not in acts:
        hint = did_you_mean(row.since.act, acts, f'declare it: act {row.since.act} "title" pending;')
        raise _wrong(f"unknown act {quoted(row.since.act)}", row.span, hint)
    for name in sorted(names_in(row.condition)) if row.condition is not None else ():
        _check_type(f"{CONDITION}{name}", BOOL, fields, row.span)
    begins = date.min if row.since is None else _begins(row.since, acts)
    return Asked(row.before, row.then, row.since, begins, row.condition)


def _begins(since: Since, acts: Mapping[str, Act]) -> date | None:
    if since.act is None:
        return since.day
    adopted = acts[since.act].adopted
    after = None if adopted is None else add_months(adopted, since.months)
    return None if after is None else max(since.day, after)


def _wrong(message: str, span: Span, hint: str) -> RuleError:
    return RuleError("RULE_TYPE_ERROR", message, span, hint=hint)
