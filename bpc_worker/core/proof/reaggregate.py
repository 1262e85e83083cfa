"""map, filter, fold and sums of a proof: run again over lists that are seen, attested over others."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bpc_worker.core.proof.values import (
    Known,
    Seen,
    StepError,
    Unseen,
    attested,
    check_shape,
    conforms,
    is_seen,
    same,
    seen_values,
)
from bpc_worker.core.rules import aggregate, operations, relambda
from bpc_worker.core.rules.relambda import FIELD, LAW_DATE, TABLE, Named, Rebuilt
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.trace import Meter
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    INT,
    MOMENT,
    MONTH,
    TEXT,
    TEXTS,
    DecType,
    ListType,
    QtyType,
    Type,
    record,
    show,
)
from bpc_worker.core.rules.values import encoded

Params = Mapping[str, object]

AGGREGATES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(relambda.PARAMETERS, frozenset({"lambda", "takes", "uses"})),
        "sumQty": frozenset({"unit"}),
        "sumDec": frozenset({"scale"}),
        "sumBy": frozenset({"unit"}),
        "distinct": frozenset(),
    }
)


_TOLD_APART = (TEXT, INT, BOOL, DATE, MONTH, MOMENT, TEXTS)


def aggregated(
    name: str, params: Params, operands: Sequence[Seen], form: object, limits: Limits, meter: Meter
) -> Seen:
    """The result over a list, the first operand; then come the start of a fold, and what the lambda uses."""
    check_shape(name, params, AGGREGATES[name])
    function = relambda.rebuilt(name, params, limits) if name in relambda.PARAMETERS else Rebuilt()
    given, result = _distinct(operands) if name == "distinct" else _types(name, params, function)
    wanted = (*given, *function.uses)
    if len(operands) != len(wanted):
        raise StepError(f"{name} of {len(operands)} values, not {len(wanted)}")
    for (what, kind), operand in zip(wanted, operands, strict=True):
        _check_operand(what, kind, operand)
    if not all(is_seen(each.value) for each in operands):
        return _attested(name, result, operands[0], form)
    values = seen_values(name, operands)
    meter.spend(_length(values[0]))
    call = relambda.ready(function, values[len(given) :], limits, meter)
    value = aggregate.run(name, dict(params), values[0], values[len(given) - 1], call)
    return Seen(encoded(value, meter.spend), value)


def _types(name: str, params: Params, function: Rebuilt) -> tuple[Named, Type]:
    """What every such operation is given, the list and the start of a fold; and what it gives."""
    if function.lambda_ is None:
        return _summed(name, params)
    *starts, (_, element) = function.takes
    given = (("the list", ListType(element)), *(("the start", kind) for _, kind in starts))
    body = function.lambda_.body.type
    return given, {"map": ListType(body), "filter": ListType(element)}.get(name, given[-1][1])


def _summed(name: str, params: Params) -> tuple[Named, Type]:
    if name == "sumDec":
        summed: Type = DecType(operations.scale_in(params))
        return (("the list", ListType(summed)),), summed
    summed = QtyType(operations.unit_in(params))
    if name == "sumQty":
        return (("the list", ListType(summed)),), summed
    pairs = ListType(record({"key": TEXT, "sum": summed}))
    return (("the list", pairs),), pairs


def _distinct(operands: Sequence[Seen]) -> tuple[Named, Type]:
    """A list of what can be told apart by its form; of one that is seen, the first item tells its type."""
    items = operands[0].value if operands else None
    of = items.of if isinstance(items, Unseen) else None
    if isinstance(items, tuple):
        of = next((kind for kind in _TOLD_APART for each in items[:1] if conforms(each, kind)), TEXT)
    if of not in _TOLD_APART:
        raise StepError("distinct of what cannot be told apart")
    return (("the list", ListType(of)),), ListType(of)


def _check_operand(what: str, kind: Type, operand: Seen) -> None:
    """A lambda that says field(…), a table's name or lawDate() is given that, and nothing like it."""
    if (what == LAW_DATE or what.startswith((FIELD, TABLE))) and operand.name != what:
        raise StepError(f"the lambda uses {what}, and is given something else")
    if not conforms(operand.value, kind):
        raise StepError(f"{what} is no {show(kind)}")


def _length(items: Known) -> int:
    if isinstance(items, Unseen):
        return items.count or 0
    return len(items) if isinstance(items, tuple) else 0


def _attested(name: str, kind: Type, items: Seen, form: object) -> Seen:
    """The result as the step says, if it can be true: of its type, and with as many items as there can be."""
    found = attested(form, kind)
    count, most = _length(found.value), _length(items.value)
    if name == "map" and count != most:
        raise StepError(f"map makes {count} items of {most}")
    if name in {"sumBy", "distinct"} and (count > most or (count == 0) != (most == 0)):
        raise StepError(f"{name} makes {count} items of {most}")
    if name == "filter" and (count > most or (count == most and not same(form, items.form))):
        raise StepError(f"filter keeps {count} items of {most}, or others")
    return found
