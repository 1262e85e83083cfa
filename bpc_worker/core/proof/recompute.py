"""The operations of a proof, computed again from what is known of their operands."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from bpc_worker.core.proof.reaggregate import AGGREGATES, aggregated
from bpc_worker.core.proof.values import (
    EMPTY_KINDS,
    Seen,
    StepError,
    Unseen,
    attested,
    check_shape,
    expect,
    read_text,
    seen_values,
    shown,
)
from bpc_worker.core.rules import operations
from bpc_worker.core.rules.declared import NOT_USABLE
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.trace import Meter
from bpc_worker.core.rules.types import JSON, OptType
from bpc_worker.core.rules.values import Empty, JsonValue, encoded

Params = Mapping[str, object]
Choice = Callable[[Params, Sequence[Seen]], Seen]


def recomputed(
    name: str, params: Params, operands: Sequence[Seen], form: object, limits: Limits, meter: Meter
) -> Seen:
    """What the operation gives, which is what `form` says; RuleError or StepError if not.

    Where an operand is unseen, some results are attested: the form is taken, if it can be true. With the
    facts nothing is unseen, and so nothing is attested.
    """
    if name != "if" and any(isinstance(each.value, Empty) for each in operands):
        raise StepError(f"{shown(name)} of a field that has ended")
    if name in CHOICES:
        found = CHOICES[name](params, operands)
    elif name in AGGREGATES:
        found = aggregated(name, params, operands, form, limits, meter)
    elif name == "recordGet" and [each.value for each in operands] == [Unseen(None)]:
        found = _attested_member(params, form)
    else:
        value = operations.apply(name, params, seen_values(name, operands))
        found = Seen(encoded(value, meter.spend), value)
    expect(form, found.form, f"the result of {shown(name)}")
    return Seen(found.form, found.value)


def _attested_member(params: Params, form: object) -> Seen:
    """A value out of a fact that is not at hand: nothing, or something."""
    check_shape("recordGet", params, {"name"})
    read_text(params["name"])
    found = attested(form, OptType(JSON))
    if found.value == JsonValue(None):
        raise StepError("recordGet gives none where there is nothing")
    return found


def _if(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("if", params, {"branch"}, operands, 2)
    condition, chosen = operands
    expect(params["branch"], "then" if _bool("if", condition) else "else", "the branch")
    return chosen


def _short_circuit(operator: str, *, decides: bool) -> Choice:
    def run(params: Params, operands: Sequence[Seen]) -> Seen:
        check_shape(operator, params, set())
        seen = [_bool(operator, each) is decides for each in operands]
        if any(seen[:-1]) or seen in ([], [False]):
            raise StepError(f"{operator} ended before it was decided, or after that")
        return operands[-1]

    return run


def _bool(name: str, seen: Seen) -> bool:
    if isinstance(seen.value, bool):
        return seen.value
    raise StepError(f"{name} of {shown(seen.form)}, which is no Bool")


def _is_some(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("isSome", params, set(), operands, 1)
    there = operands[0].value is not None
    return Seen(there, there)


def _unwrap_or(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("unwrapOr", params, set(), operands, 2)
    return operands[1] if operands[0].value is None else operands[0]


def _require_some(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("requireSome", params, {"message"}, operands, 1)
    read_text(params["message"])
    if operands[0].value is None:
        raise StepError("a value that is required is absent")
    return operands[0]


def _empty(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("empty", params, {"kind", "reason"}, operands[1:])
    kind, reason = read_text(params["kind"]), read_text(params["reason"])
    if kind not in EMPTY_KINDS or not reason.strip():
        raise StepError(f"a field that is {shown(kind)} for {shown(reason)}")
    value = Empty(kind, reason, *[read_text(each.form) for each in operands])
    return Seen(encoded(value), value)


def _unusable(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("unusable", params, set(), operands, 2)
    condition, detail = operands
    if _bool("unusable", condition):
        raise StepError("a value that is usable ends no field")
    value = Empty("missing", NOT_USABLE, read_text(detail.form))
    return Seen(encoded(value), value)


def _count(params: Params, operands: Sequence[Seen]) -> Seen:
    check_shape("count", params, set(), operands, 1)
    items = operands[0].value
    count = len(items) if isinstance(items, tuple) else items.count if isinstance(items, Unseen) else None
    if count is None:
        raise StepError("count of something that is no list")
    return Seen(count, count)


# What they give depends on nothing inside their operands, which may so be unseen.
CHOICES: Mapping[str, Choice] = MappingProxyType(
    {
        "if": _if,
        "&&": _short_circuit("&&", decides=False),
        "||": _short_circuit("||", decides=True),
        "isSome": _is_some,
        "unwrapOr": _unwrap_or,
        "requireSome": _require_some,
        "empty": _empty,
        "unusable": _unusable,
        "count": _count,
    }
)
