"""Where an evaluation ended with an error: in which field, and which facts it had read."""

from dataclasses import dataclass

from bpc_worker.core.base import canonical_json
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.reads import ANY, facts_in
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.typed import TypedField, TypedModule
from bpc_worker.core.rules.values import Fact

_MOST = 10  # facts
_LONGEST = 100  # characters


@dataclass(frozen=True, slots=True)
class FactRead:
    """A fact that the field had read."""

    fact_type: str
    fact_key: str
    value: str


@dataclass(frozen=True, slots=True)
class Failing:
    field: str
    facts: tuple[FactRead, ...]


def failing(module: TypedModule, facts: FactSet, error: RuleError) -> Failing | None:
    """None where the error is not one of a field."""
    for field in module.fields.values():
        if field.body.span.start <= error.span.start < field.body.span.end:
            names = dict.fromkeys(name for each in _behind(module, field) for name in facts_in(each.body))
            # Single ones: a list is no value to look at.
            found = [facts.get(*name) for name in names if not name[1].endswith(ANY)]
            return Failing(field.path, tuple([_read(fact) for fact in found if fact is not None][:_MOST]))
    return None


def _behind(module: TypedModule, field: TypedField) -> list[TypedField]:
    """The field, and after it those that it uses, near ones first."""
    found = {field.path: field}
    for each in (ahead := [field]):
        new = [module.fields[path] for path in each.uses if path not in found]
        found |= {inner.path: inner for inner in new}
        ahead += new
    return ahead


def _read(fact: Fact) -> FactRead:
    value = fact.payload.get("value", fact.payload)
    text = value if isinstance(value, str) else canonical_json.encode(value).decode()
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return FactRead(fact.fact_type, fact.fact_key, cut)
