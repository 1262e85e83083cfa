"""What the values of one document cannot be together: each may be right alone."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import reduce

from bpc_worker.core.base import numbers
from bpc_worker.documents.model import FoundFact
from bpc_worker.documents.problems import Problems
from bpc_worker.documents.reading.csv_text import place_of

STAGES = ("raw_material", "production", "distribution", "end_of_life")

_IN_ORDER = (
    ("performance.voltage_min_v", "performance.voltage_nominal_v"),
    ("performance.voltage_nominal_v", "performance.voltage_max_v"),
    ("performance.voltage_min_v", "performance.voltage_max_v"),
    ("performance.voltage_temperature_min_c", "performance.voltage_temperature_max_c"),
    ("performance.power_limit_temperature_min_c", "performance.power_limit_temperature_max_c"),
    ("performance.idle_temperature_min_c", "performance.idle_temperature_max_c"),
)
_METALS = ("cobalt", "lithium", "nickel", "lead")
_TONNE_PER_KILOGRAM = Decimal("0.001")


def check_together(facts: Mapping[str, FoundFact], problems: Problems) -> None:
    """Facts `Value` by their names."""
    for names, message in contradictions(facts):
        problems.add(place_of(facts[names[0]].pointer), message)


def contradictions(facts: Mapping[str, FoundFact]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names whose values cannot all be right, and why."""
    for low, high in _IN_ORDER:
        lower, upper = _number(facts, low), _number(facts, high)
        if lower is not None and upper is not None and lower > upper:
            above = f"{low} is {numbers.text(lower)}, above {high} of {numbers.text(upper)}; correct one"
            yield (low, high), above
    for metal in _METALS:
        yield from _recovered(metal, facts)
    yield from _stages(facts)


def check_sum(total: Decimal, parts: list[Decimal]) -> str | None:
    """What is wrong with a total; figures may be rounded, each by half of its last digit."""
    found = reduce(numbers.add, parts)
    slack = reduce(numbers.add, (_half_digit(each) for each in (total, *parts)))
    if numbers.subtract(found, total).copy_abs() <= slack:
        return None
    return f"is {numbers.text(total)}, but its parts add up to {numbers.text(found)}; correct what is wrong"


def _stages(facts: Mapping[str, FoundFact]) -> Iterator[tuple[tuple[str, ...], str]]:
    tonnes = _number(facts, "carbon.absolute_t")
    names = [f"carbon.{stage}_kg" for stage in STAGES]
    stages = [_number(facts, name) for name in names]
    known = [stage for stage in stages if stage is not None]
    if tonnes is None or len(known) < len(STAGES):
        return
    wrong = check_sum(tonnes, [numbers.multiply(stage, _TONNE_PER_KILOGRAM) for stage in known])
    if wrong is not None:
        yield ("carbon.absolute_t", *names), f"carbon.absolute_t {wrong}"


def _recovered(metal: str, facts: Mapping[str, FoundFact]) -> Iterator[tuple[tuple[str, ...], str]]:
    names = tuple(f"recycled.{share}{metal}_pct" for share in ("", "pre_consumer_", "post_consumer_"))
    whole, before, after = (_number(facts, each) for each in names)
    if whole is None or before is None or after is None:
        return
    wrong = check_sum(whole, [before, after])
    if wrong is not None:
        yield names, f"{names[0]} {wrong}"


def _number(facts: Mapping[str, FoundFact], name: str) -> Decimal | None:
    return Decimal(str(facts[name].payload["value"])) if name in facts else None


def _half_digit(value: Decimal) -> Decimal:
    return Decimal((0, (5,), -numbers.scale_of(value) - 1))
