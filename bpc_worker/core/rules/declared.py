"""given, declared, measured, lastMeasured: one value of the vocabulary of facts, or why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import from_facts, types
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.types import OptType, QtyType, Type
from bpc_worker.core.rules.values import Empty, Fact, JsonValue, Value

NOT_DECLARED = "not declared"
NOT_USABLE = "declared, but not usable"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a function of the language reads a fact."""

    fact_type: str
    optional: bool  # where there is no fact: none, or the end of the field


READINGS: Mapping[str, Reading] = MappingProxyType(
    {
        "given": Reading("Value", optional=True),
        "declared": Reading("Value", optional=False),
        "lastMeasured": Reading("Measured", optional=True),
        "measured": Reading("Measured", optional=False),
    }
)
_Read = Callable[[Value], Value]
_SIMPLE: Mapping[str, tuple[Type, _Read]] = MappingProxyType(
    {
        "Text": (types.TEXT, from_facts.to_text),
        "Int": (types.INT, from_facts.to_int),
        "Bool": (types.BOOL, from_facts.to_bool),
        "Date": (types.DATE, from_facts.to_date),
        "Month": (types.MONTH, from_facts.to_month),
        "Moment": (types.MOMENT, from_facts.to_moment),
        "Texts": (types.TEXTS, from_facts.to_texts),
    }
)
WORDS = (*_SIMPLE, *UNITS)  # what a value can be read as


def type_of(function: str, word: str) -> Type:
    """What the function gives, where it gives anything."""
    reading = READINGS[function]
    inner = _SIMPLE[word][0] if word in _SIMPLE else QtyType(word)
    if reading.fact_type == "Measured":
        inner = types.record({"value": inner, "measured_at": types.MOMENT, "source": types.TEXT})
    return OptType(inner) if reading.optional else inner


def answer(function: str, word: str, fact: Fact | None) -> Value:
    """The value in the fact; an Empty where the field ends for want of one."""
    reading = READINGS[function]
    if fact is None:
        return None if reading.optional else Empty("missing", NOT_DECLARED)
    try:
        value = _member(fact, "value", lambda inner: _read(word, inner))
        if reading.fact_type == "Value":
            return value
        measured_at = _member(fact, "measured_at", from_facts.to_moment)
        return {
            "value": value,
            "measured_at": measured_at,
            "source": _member(fact, "source", from_facts.to_text),
        }
    except RuleError as error:
        return Empty("missing", NOT_USABLE, f"{fact.fact_type} {fact.fact_key}: {error.message}")


def _read(word: str, inner: Value) -> Value:
    return _SIMPLE[word][1](inner) if word in _SIMPLE else from_facts.to_qty(word, inner)


def _member(fact: Fact, name: str, read: _Read) -> Value:
    found = fact.payload.get(name)
    if found is None:
        defect = fact.payload.get("defect", f"it has no {name}")  # why a document's value was not taken
        raise RuleError("VALIDATION_ERROR", f"{defect}", hint="declare it anew")
    return read(JsonValue(found))
