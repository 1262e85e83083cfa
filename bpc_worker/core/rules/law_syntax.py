"""The `law` block as it is written."""

from dataclasses import dataclass
from datetime import date

from bpc_worker.core.rules.law import Condition, Since, Word
from bpc_worker.core.rules.source import Span


@dataclass(frozen=True, slots=True)
class LawAct:
    name: str
    title: str
    adopted: date | None
    span: Span


@dataclass(frozen=True, slots=True)
class LawRow:
    """EV: not until 2027-02-18 then required when cycle_use;"""

    battery_class: str
    before: Word
    then: Word
    since: Since | None
    condition: Condition | None
    span: Span


@dataclass(frozen=True, slots=True)
class LawPoint:
    id: str
    name: str
    fields: tuple[tuple[str, Span], ...]
    source: str
    basis: str
    gate: str
    audiences: tuple[str, ...]
    rows: tuple[LawRow, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class LawBlock:
    title: str
    class_field: str
    class_span: Span
    acts: tuple[LawAct, ...]
    points: tuple[LawPoint, ...]
    span: Span
