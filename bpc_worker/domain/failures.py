"""Rules that end with an error: its field, the values that it had read, and the documents they stand in.

Values are a supplier's: the words with them are for the tenant's rows, never for the queue.
"""

from collections.abc import Iterable, Sequence

import msgspec

from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.failing import FactRead, failing
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact
from bpc_worker.handler_api import Permanent

_READ = "read"


class Source(msgspec.Struct, frozen=True):
    fact_type: str
    fact_key: str
    document: str
    pointer: str


def failed_in(dsl: str, rules: TypedModule, facts: Iterable[Fact], error: RuleError) -> Permanent:
    """The error with its field; what was read goes in its detail, to be taken out before it is stored."""
    found = failing(rules, FactSet(facts), error)
    if found is None:
        return Permanent(error.code, render(dsl, error))
    message = f"{render(dsl, error)}\nfield: {found.field}"
    return Permanent(error.code, message, detail={_READ: msgspec.to_builtins(found.facts)})


def without_values(error: Permanent) -> Permanent:
    """What the queue may keep."""
    left = {name: value for name, value in (error.detail or {}).items() if name != _READ}
    return Permanent(error.code, error.message, detail=left or None)


def values_read(error: Permanent) -> Sequence[FactRead]:
    return msgspec.convert((error.detail or {}).get(_READ, []), list[FactRead])


def in_words(error: Permanent, sources: Iterable[Source]) -> str:
    """The message, and a line for each value: its name, where it was found."""
    places: dict[tuple[str, str], list[str]] = {}
    for each in sources:
        at = f"{each.document} at {each.pointer}" if each.pointer else each.document
        places.setdefault((each.fact_type, each.fact_key), []).append(at)
    lines = [
        f"{read.fact_type} {read.fact_key} = {read.value}"
        f" ({', '.join(places.get((read.fact_type, read.fact_key), ['no document']))})"
        for read in values_read(error)
    ]
    return "\n".join([error.message, *lines])
