"""pending("EC-17"): whether the law does not ask for a point yet, of this battery's class and on this day."""

from collections.abc import Iterable, Mapping
from datetime import date

from bpc_worker.core.rules.law import Asked, Point, Word
from bpc_worker.core.rules.parse_types import iso_date
from bpc_worker.core.rules.source import unchecked
from bpc_worker.core.rules.values import Value


def until(point: Point) -> dict[str, str | None]:
    """Until which day the point waits, by class; None where that day is not known. Others do not wait."""
    waiting = {name: row for name, row in point.asked.items() if Word.NOT_YET in (row.before, row.then)}
    return {name: _day(row) for name, row in waiting.items()}


def _day(row: Asked) -> str | None:
    return None if row.begins is None or row.then is Word.NOT_YET else row.begins.isoformat()


def is_pending(parameters: Mapping[str, object], day: Value, battery_class: Value) -> bool:
    """Of a battery of unknown class what waits for some class: nothing is shown too early."""
    days = parameters["until"]
    if not isinstance(days, Mapping) or type(day) is not date or not isinstance(battery_class, str | None):
        raise unchecked("pending takes days by class, a date and a class")
    rows: Iterable[object] = days.values()
    if battery_class is not None:
        rows = [days[battery_class]] if battery_class in days else []
    return any(row is None or day < _read(row) for row in rows)


def _read(row: object) -> date:
    found = iso_date(row) if isinstance(row, str) else None
    if found is None:
        raise unchecked("pending takes days")
    return found
