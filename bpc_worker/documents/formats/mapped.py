"""A document read by the table of its form: every value of it is used, kept, or refused by its place."""

from collections.abc import Iterator
from dataclasses import dataclass

from bpc_worker.documents import values
from bpc_worker.documents.formats.foreign_readings import in_other_unit
from bpc_worker.documents.formats.form import Cell, Form, Member, Reading, Rows, Said
from bpc_worker.documents.formats.ledger import Ledger, digest
from bpc_worker.documents.formats.places import Found, Steps, find
from bpc_worker.documents.formats.unit_words import our_unit
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Unfit, pointer, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import PLAIN
from bpc_worker.documents.reading.json_text import Unreadable
from bpc_worker.documents.reading.record import Record
from bpc_worker.documents.vocabulary import MEASURED, VALUES

_MOST_ITEMS = 10_000


def read(form: Form, top: Record, limits: Limits) -> list[FoundFact]:
    """The facts. Values that are refused cost no others; a document of none but them is rejected."""
    if form.version is not None and not _says(Found((), top.values), form.version):
        top.problems.add(
            f"/{form.version.path}", f"is not a version that is read here; known are {form.versions}"
        )
        return []
    table = _Table(form, top, limits, Ledger(top.values))
    for cell in form.cells:
        for found in find(top.values, cell.path):
            table.read_cell(cell, found)
    table.read_rows()
    return [] if top.problems else table.ledger.settle(form.name, top.problems)


@dataclass(frozen=True, slots=True)
class _Table:
    form: Form
    top: Record
    limits: Limits
    ledger: Ledger

    def read_cell(self, cell: Cell, found: Found) -> None:
        if not cell.kept:
            self.ledger.take(found)
        try:
            payload = self._payload(cell, found)
        except Unfit as unfit:
            self.ledger.refuse_named(cell.fact_type, cell.name, found.steps, str(unfit))
        else:
            self.ledger.use(cell.fact_type, cell.name, payload, found.steps)

    def _payload(self, cell: Cell, found: Found) -> dict[str, object]:
        entry = (MEASURED if cell.at else VALUES)[cell.name]
        unit = self._unit(cell.unit_beside, found) if cell.unit_beside else cell.unit
        reading = cell.read or values.reading(entry, self.limits, PLAIN, unit)
        if not cell.at:
            return {"value": _read(reading, found.value)}
        when = self._time(cell.at, found)
        source = self.form.source or self.form.name
        return {"value": _read(reading, found.value), "measured_at": when, "source": source}

    def _unit(self, member: str, found: Found) -> str:
        beside = self._beside(member, found)
        if beside is None:
            raise Unfit(f"its unit is missing; add {member}")
        return our_unit(readings.text(beside.value))

    def _time(self, at: str, found: Found) -> object:
        beside = self._beside(at, found)
        if beside is None:
            raise Unfit(f"the time of its measurement is missing; add {at.rpartition('/')[2]}")
        return _read(self.form.time, beside.value)

    def _beside(self, member: str, found: Found) -> Found | None:
        """A member beside the value; with `/`, from the top."""
        steps: Steps = () if member.startswith("/") else found.steps[:-1]
        path = "/".join(str(step) for step in steps)
        beside = next(find(self.top.values, f"{path}/{member}"), None)
        if beside is not None:
            self.ledger.take(beside)
        return beside

    def read_rows(self) -> None:
        """Each item by the first of its tables whose version it says."""
        passed: dict[Steps, Found] = {}
        met: set[Steps] = set()
        for rows in self.form.rows:
            items = [part for item in find(self.top.values, rows.path) for part in _parts(item, rows.split)]
            if len(items) > _MOST_ITEMS:
                message = f"more than {_MOST_ITEMS} items; send them in several documents"
                self.top.problems.too_large(pointer(items[0].steps[:-1]), message)
                return
            for number, item in enumerate(items):
                if rows.when is None or _says(item, rows.when):
                    met.add(item.steps)
                    self._read_row(rows, number, item)
                else:
                    passed[item.steps] = item
        for item in (each for steps, each in passed.items() if steps not in met):
            self._refuse_item(item, f"is not of a version that is read here; known are {self.form.versions}")

    def _read_row(self, rows: Rows, number: int, item: Found) -> None:
        payload: dict[str, object] = {}
        defects: dict[str, str] = {}
        for member in rows.members:
            found = next(find(item.value, member.path, item.steps), None)
            if found is None and member.needed:
                self._refuse_item(item, f"{member.path} is missing; add it")
                return
            if found is not None:
                self.ledger.take(found)
                try:
                    value = _read(self._reading(member, item), found.value)
                    payload |= {} if value is None else {member.name: value}
                except Unfit as unfit:
                    defects[member.name] = str(unfit)
                    self.ledger.refuse(found.steps, f"{member.name}: {unfit}")
        lost = [member.path for member in rows.members if member.needed and member.name in defects]
        if lost:
            self._refuse_item(item, f"is of no use without {', '.join(lost)}")
        elif wrong := rows.check(payload):
            self._refuse_item(item, wrong)
        elif payload or defects:
            self._use_row(rows, number, item, payload | ({"defects": defects} if defects else {}))

    def _reading(self, member: Member, item: Found) -> Reading:
        if not member.unit_at:
            return member.read
        beside = next(find(item.value, member.unit_at, item.steps), None)
        if beside is None:
            raise Unfit(f"its unit is missing; add {member.unit_at}")
        self.ledger.take(beside)
        return in_other_unit(member.read, our_unit(readings.text(beside.value)), member.unit)

    def _use_row(self, rows: Rows, number: int, item: Found, found: dict[str, object]) -> None:
        self.ledger.taken |= item.chosen_by
        payload = found | dict(rows.fixed)
        further = self.ledger.rest(item) if rows.whole else {}
        if further:
            payload["further"] = further
        key = str(payload[rows.key]) if rows.key else f"{number:04}-{digest(payload)}"
        first = next(iter(self.ledger.found.get((rows.fact_type, rows.prefix + key), ())), None)
        if first is not None:
            message = f"{quoted(key)} stands already at {pointer(first)}; keep its newest version"
            self._refuse_item(item, message)
        else:
            self.ledger.use(rows.fact_type, rows.prefix + key, payload, item.steps)

    def _refuse_item(self, item: Found, message: str) -> None:
        self.ledger.take(item)
        self.ledger.refuse(item.steps, message)


def _read(reading: Reading, value: object) -> object:
    if isinstance(value, Unreadable):
        raise Unfit(value.why)
    return reading(value)


def _says(item: Found, said: Said) -> bool:
    found = next(find(item.value, said.path), None)
    return found is not None and isinstance(found.value, str) and bool(said.pattern.fullmatch(found.value))


def _parts(item: Found, split: str) -> Iterator[Found]:
    """The item; or, of a text that is a list, each part of it that says something."""
    if not split or not isinstance(item.value, str):
        yield item
        return
    for part in filter(None, (each.strip() for each in item.value.split(split))):
        yield Found(item.steps, part, item.chosen_by)
