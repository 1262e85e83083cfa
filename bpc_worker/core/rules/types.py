"""The types of the rule language."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bpc_worker.core.rules.source import Limits

MAX_PARTS = 1_000  # types inside one type


@dataclass(frozen=True, slots=True)
class Simple:
    """Bool, Int, Text, Date, Month, Moment, Texts; Num: a decimal of open scale; Json: from a fact; Fact."""

    name: str


@dataclass(frozen=True, slots=True)
class DecType:
    scale: int


@dataclass(frozen=True, slots=True)
class QtyType:
    unit: str


@dataclass(frozen=True, slots=True)
class OptType:
    of: "Type"


@dataclass(frozen=True, slots=True)
class ListType:
    of: "Type"


@dataclass(frozen=True, slots=True)
class MapType:
    of: "Type"


@dataclass(frozen=True, slots=True)
class RecordType:
    fields: tuple[tuple[str, "Type"], ...]  # by name


@dataclass(frozen=True, slots=True)
class NoneType:
    """The type of `none`: fits every Opt."""


@dataclass(frozen=True, slots=True)
class EmptyType:
    """withheld, notApplicable, missing, notYet: the result of a field that has no value, and nothing else."""


Type = Simple | DecType | QtyType | OptType | ListType | MapType | RecordType | NoneType | EmptyType

BOOL, INT, TEXT, DATE = Simple("Bool"), Simple("Int"), Simple("Text"), Simple("Date")
MONTH, MOMENT, TEXTS = Simple("Month"), Simple("Moment"), Simple("Texts")
NUM, JSON, FACT = Simple("Num"), Simple("Json"), Simple("Fact")
NONE, EMPTY = NoneType(), EmptyType()


def show(kind: Type) -> str:
    """The type as it is written."""
    match kind:
        case Simple(name):
            return name
        case DecType(scale):
            return f"Dec({scale})"
        case QtyType(unit):
            return f"Qty({unit})"
        case RecordType(members):
            return f"Record({', '.join([f'{name}: {show(each)}' for name, each in members])})"
        case NoneType():
            return "none"
        case EmptyType():
            return "empty"
        case OptType() | ListType() | MapType():
            return f"{_OPENINGS[type(kind)]}{show(kind.of)})"


_OPENINGS: Mapping[type, str] = {OptType: "Opt(", ListType: "List(", MapType: "Map(Text, "}


def record(members: Mapping[str, Type]) -> RecordType:
    return RecordType(tuple(sorted(members.items())))


def optional(kind: Type) -> Type:
    """Opt of the type; an Opt stays what it is."""
    return kind if isinstance(kind, OptType | NoneType) else OptType(kind)


def parts(kind: Type) -> tuple[Type, ...]:
    """The types directly inside."""
    match kind:
        case OptType(of) | ListType(of) | MapType(of):
            return (of,)
        case RecordType(members):
            return tuple(each for _, each in members)
        case _:
            return ()


def is_too_large(kind: Type, limits: Limits) -> bool:
    """A record of two records doubles its type, and so on: parts are counted before anything else is done."""
    waiting, seen = [(kind, 0)], 0
    while waiting:
        each, depth = waiting.pop()
        seen += 1
        if seen > MAX_PARTS or depth > limits.nesting:
            return True
        waiting += [(inner, depth + 1) for inner in parts(each)]
    return False


def contains(kind: Type, test: Callable[[Type], bool]) -> bool:
    """Whether the type, or one inside it, is such."""
    return test(kind) or any(contains(inner, test) for inner in parts(kind))


def is_decimal(kind: Type) -> bool:
    return isinstance(kind, DecType) or kind == NUM


def is_number(kind: Type) -> bool:
    return kind == INT or is_decimal(kind)


def is_ordered(kind: Type) -> bool:
    """Whether one value of it can be greater than another."""
    return is_number(kind) or isinstance(kind, QtyType) or kind in {TEXT, DATE, MONTH, MOMENT}


def is_plain(kind: Type) -> bool:
    """Whether it is one value, which can be compared for equality."""
    return is_ordered(kind) or kind in {BOOL, TEXTS}
