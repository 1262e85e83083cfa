"""What a battery is and can do, as JSON: one fact `Value` per member, lists beside them."""

from collections.abc import Iterator, Mapping
from functools import partial

from bpc_worker.documents import names, values
from bpc_worker.documents.checks import check_together
from bpc_worker.documents.formats import lists
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.reading.record import Record, json_record
from bpc_worker.documents.vocabulary import VALUES

_GROUPS = frozenset(name.partition(".")[0] for name in VALUES)
_FLOW = "INDUSTRIAL_EXTERNAL_STORAGE"  # an older word for two values
_EXTERNAL = "condition.external_storage_only"


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    top.only(("battery", *lists.MEMBERS))
    battery = top.inner("battery")
    facts = [] if battery is None else _values(battery, limits)
    for member, read in lists.MEMBERS.items():
        facts += read(top, member, limits)
    if not facts and not top.problems:
        top.problems.add("/battery", "there is no value in it; add what the battery is and can do")
    return facts


def _values(battery: Record, limits: Limits) -> list[FoundFact]:
    facts: dict[str, FoundFact] = {}
    for record, member, title in _members(battery):
        entry, unit = names.named(title)
        if entry is None:
            record.problems.advise(record.where(member), partial(names.advice, title))
            continue
        if entry.name == "identity.category" and record.values[member] == _FLOW:
            found: Mapping[str, object] = {"identity.category": "INDUSTRIAL", _EXTERNAL: True}
        else:
            found = {entry.name: record.may(member, values.reading(entry, limits, unit=unit))}
        for name, value in found.items():
            fact = values.value_fact(name, value, record.where(member))
            if value is not None and facts.setdefault(name, fact) is not fact:
                message = f"{name} stands already at {facts[name].pointer}; keep one"
                record.problems.add(record.where(member), message)
    check_together(facts, battery.problems)
    return list(facts.values())


def _members(battery: Record) -> Iterator[tuple[Record, str, str]]:
    """Each member of the battery or of one of its groups, with the title that it has in the whole."""
    for member, value in battery.values.items():
        group = (
            json_record(value, battery.where(member), battery.problems)
            if member in _GROUPS and isinstance(value, Mapping)
            else None
        )
        if group is None:
            yield battery, member, member
        else:
            for inner in group.values:
                yield group, inner, f"{member}.{inner}"
