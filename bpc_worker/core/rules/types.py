"""The types of the rule language."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Simple:
    """Bool, Int, Text, Date; Num: a decimal whose scale is open; Json: a value out of a fact; Fact."""

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
    fields: tuple[tuple[str, "Type"], ...]


@dataclass(frozen=True, slots=True)
class NoneType:
    """The type of `none`: fits every Opt."""


@dataclass(frozen=True, slots=True)
class EmptyType:
    """withheld, notApplicable, missing: fits every field, and nothing else."""


Type = Simple | DecType | QtyType | OptType | ListType | MapType | RecordType | NoneType | EmptyType

BOOL, INT, TEXT, DATE = Simple("Bool"), Simple("Int"), Simple("Text"), Simple("Date")
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
        case OptType(of):
            return f"Opt({show(of)})"
        case ListType(of):
            return f"List({show(of)})"
        case MapType(of):
            return f"Map(Text, {show(of)})"
        case RecordType(fields):
            return f"Record({', '.join(f'{name}: {show(each)}' for name, each in fields)})"
        case NoneType():
            return "none"
        case EmptyType():
            return "empty"


def is_decimal(kind: Type) -> bool:
    return isinstance(kind, DecType) or kind == NUM


def is_number(kind: Type) -> bool:
    return kind == INT or is_decimal(kind)
