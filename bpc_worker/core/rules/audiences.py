"""Who may see what a rule text makes: the audiences it declares, and those of its statements."""

from collections.abc import Mapping

from bpc_worker.core.base.audience import EVERYBODY, NOBODY, PUBLIC
from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.scope import Stated
from bpc_worker.core.rules.source import RuleError, Span, quoted

# Names that mean something else in a view: readers would drop such a member, or take it for another thing.
RESERVED_MEMBERS = frozenset({"_sd", "_sd_alg", "..."})
_RESERVED_PATHS = frozenset({"compliance", "audiences"})


def check_paths(tree: syntax.Module) -> None:
    """No field is called by a name that a view has for itself."""
    for field in tree.fields:
        first, *_ = names = field.path.split(".")
        taken = sorted(RESERVED_MEMBERS.intersection(names)) or sorted(_RESERVED_PATHS.intersection([first]))
        if taken:
            message = f"no field can be called {quoted(field.path)}: a view has {quoted(taken[0])} for itself"
            raise RuleError("RULE_TYPE_ERROR", message, field.path_span, hint="choose another name")


def declared(tree: syntax.Module) -> tuple[str, ...]:
    """The names that a passport made by these rules may be for; without a declaration all."""
    return EVERYBODY if tree.audiences is None else tree.audiences


def check_declared(tree: syntax.Module) -> None:
    for field in tree.fields:
        _check_names(field.audiences, declared(tree), field.path_span)


def statement_audiences(
    stated: Mapping[str, Mapping[str, Stated]],
    fields: Mapping[str, typed.TypedField],
    names: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """Of each statement, by its code: those named with it, else those of the field that states it."""
    found: dict[str, tuple[str, ...]] = {}
    for path, statements in stated.items():
        for code, each in statements.items():
            if each.audiences is None:
                found[code] = _inherited(code, each.span, fields[path], fields)
            else:
                _check_names(each.audiences, names, each.span)
                found[code] = each.audiences
    return found


def _inherited(
    code: str, span: Span, field: typed.TypedField, fields: Mapping[str, typed.TypedField]
) -> tuple[str, ...]:
    """Those who see the field, if they may also see all that the field looks at."""
    hint = f"say who may see the statement: emitCompliance(…) for {', '.join(field.audiences) or NOBODY}"
    if not field.audiences:
        message = f"nobody sees the field {quoted(field.path)}, which states {quoted(code)}"
        raise RuleError("RULE_TYPE_ERROR", message, span, hint=hint)
    for used in field.uses:
        seen_by = fields[used].audiences
        kept_from = sorted(set(field.audiences).difference(seen_by))
        if kept_from and PUBLIC not in seen_by:  # what everybody may read is told to nobody
            message = f"the statement {quoted(code)} would tell {', '.join(kept_from)} about {quoted(used)}"
            raise RuleError("RULE_TYPE_ERROR", message, span, hint=hint)
    return field.audiences


def _check_names(audiences: tuple[str, ...], names: tuple[str, ...], span: Span) -> None:
    unknown = [name for name in audiences if name not in names]
    if unknown:
        message = f"{quoted(unknown[0])} is none of the audiences that this text declares"
        hint = f"add it to the declaration: audiences {', '.join(sorted({*names, *unknown}))};"
        raise RuleError("RULE_TYPE_ERROR", message, span, hint=hint)
