"""Lists beside the single values: hazardous substances, sources of spares, negative events."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from bpc_worker.documents import values
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit, pointer, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.csv_text import place_of
from bpc_worker.documents.reading.decimal_text import PLAIN, Spelling, text_of
from bpc_worker.documents.reading.json_text import REFUSED
from bpc_worker.documents.reading.record import Record, json_record
from bpc_worker.documents.reading.table import Line, Sheet, lines

_MOST = 10_000
_HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """One kind of list: its columns, the first of which are needed, and what tells its rows apart."""

    fact_type: str
    prefix: str
    needed: tuple[str, ...]
    optional: tuple[str, ...]
    key: tuple[str, ...]
    synonyms: Mapping[str, str]

    @property
    def columns(self) -> dict[str, str]:
        return {name: name for name in (*self.needed, *self.optional)} | dict(self.synonyms)


SUBSTANCES = Listed(
    "Substance", "substance:", ("name", "class"), ("cas", "ec", "share_pct", "location"),
    ("name", "location"),
    {"substance": "name", "stoff": "name", "hazard_class": "class", "gefahrenklasse": "class",
     "cas_number": "cas", "cas_no": "cas", "ec_number": "ec", "share": "share_pct", "anteil": "share_pct"},
)  # fmt: skip
SPARES = Listed(
    "SpareSource", "spare:", ("name",), ("address", "contact", "web", "part_numbers"), ("name",),
    {"source": "name", "supplier": "name", "bezugsquelle": "name", "adresse": "address", "kontakt": "contact",
     "url": "web"},
)  # fmt: skip
EVENTS = Listed("NegativeEvent", "event:", ("at", "what"), (), ("at",), {"event": "what", "ereignis": "what"})


def from_table(
    listed: Listed, sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems
) -> list[FoundFact]:
    found = lines(sheet, listed.columns, lambda _: listed.needed, problems)
    return _facts(listed, found, spelling, limits, problems)


def from_json(listed: Listed, top: Record, member: str, limits: Limits) -> list[FoundFact]:
    """The array under this member, if it is there."""
    items = top.values.get(member)
    if items is None or items is REFUSED:
        return []
    if not isinstance(items, list) or len(items) > _MOST:
        top.problems.add(top.where(member), f"{member}: an array of at most {_MOST} objects is expected")
        return []
    found = []
    for index, item in enumerate(items):
        here = top.where(member) + pointer([index])
        record = json_record(item, here, top.problems)
        if record is not None:
            record.only((*listed.needed, *listed.optional))
            found.append(Line(record, here, record.where, {}))
    return _facts(listed, found, PLAIN, limits, top.problems)


MEMBERS: Mapping[str, Callable[[Record, str, Limits], list[FoundFact]]] = {
    "substances": partial(from_json, SUBSTANCES),
    "spare_sources": partial(from_json, SPARES),
    "negative_events": partial(from_json, EVENTS),
}


def _facts(
    listed: Listed, found: Iterable[Line], spelling: Spelling, limits: Limits, problems: Problems
) -> list[FoundFact]:
    facts: dict[str, FoundFact] = {}
    reading = _readings(limits, spelling)
    for line in found:
        payload: dict[str, object] = {name: line.record.need(name, reading[name]) for name in listed.needed}
        payload |= {name: line.record.may(name, reading[name]) for name in listed.optional}
        payload = {name: value for name, value in payload.items() if value is not None}
        if any(name not in payload for name in listed.needed):
            continue
        if line.further:
            payload["further"] = dict(line.further)
        key = " ".join(str(payload[name]) for name in listed.key if name in payload)
        fact = values.row_fact(listed.fact_type, listed.prefix + key, payload, line.pointer)
        if facts.setdefault(fact.fact_key, fact) is not fact:
            message = f"{quoted(key)} stands already at {place_of(facts[fact.fact_key].pointer)}; keep one"
            problems.add(line.record.here, message)
    return list(facts.values())


def _readings(limits: Limits, spelling: Spelling) -> Mapping[str, Callable[[object], object]]:
    return {
        "name": readings.name,
        "class": readings.text,
        "cas": readings.cas,
        "ec": readings.ec,
        "share_pct": lambda value: share(value, limits, spelling),
        "location": readings.name,
        "address": readings.text,
        "contact": readings.text,
        "web": readings.url,
        "part_numbers": _part_numbers,
        "at": readings.moment,
        "what": readings.text,
    }


def share(value: object, limits: Limits, spelling: Spelling) -> str:
    """In percent."""
    found = readings.not_negative(readings.percents(readings.decimals(limits, spelling)))(value)
    if found > _HUNDRED:
        raise Unfit(f"{text_of(found)} is above 100 %, which cannot be; correct it")
    return text_of(found)


def _part_numbers(value: object) -> list[str]:
    """An array of texts, or in a table one cell with commas between them."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not 0 < len(parts) <= _HUNDRED:
        raise Unfit(f"an array of 1 to {_HUNDRED} texts is expected")
    if REFUSED in parts:
        raise Unfit("one of its texts cannot be read")
    return [readings.name(part) for part in parts]
