"""What the values of one document cannot be together: each may be right alone."""

from collections.abc import Mapping
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
    for low, high in _IN_ORDER:
        lower, upper = _number(facts, low), _number(facts, high)
        if lower is not None and upper is not None and lower > upper:
            message = f"{low} is {numbers.text(lower)}, above {high} of {numbers.text(upper)}; correct one"
            problems.add(place_of(facts[low].pointer), message)
    for metal in _METALS:
        _check_recovered(metal, facts, problems)
    _check_stages(facts, problems)


def check_sum(total: Decimal, parts: list[Decimal]) -> str | None:
    """What is wrong with a total; figures may be rounded, each by half of its last digit."""
    found = reduce(numbers.add, parts)
    slack = reduce(numbers.add, (_half_digit(each) for each in (total, *parts)))
    if numbers.subtract(found, total).copy_abs() <= slack:
        return None
    return f"is {numbers.text(total)}, but its parts add up to {numbers.text(found)}; correct what is wrong"


def _check_stages(facts: Mapping[str, FoundFact], problems: Problems) -> None:
    tonnes = _number(facts, "carbon.absolute_t")
    stages = [_number(facts, f"carbon.{stage}_kg") for stage in STAGES]
    known = [stage for stage in stages if stage is not None]
    if tonnes is None or len(known) < len(STAGES):
        return
    wrong = check_sum(tonnes, [numbers.multiply(stage, _TONNE_PER_KILOGRAM) for stage in known])
    if wrong is not None:
        problems.add(place_of(facts["carbon.absolute_t"].pointer), f"carbon.absolute_t {wrong}")


def _check_recovered(metal: str, facts: Mapping[str, FoundFact], problems: Problems) -> None:
    name = f"recycled.{metal}_pct"
    whole, before, after = (
        _number(facts, each)
        for each in (name, f"recycled.pre_consumer_{metal}_pct", f"recycled.post_consumer_{metal}_pct")
    )
    if whole is None or before is None or after is None:
        return
    wrong = check_sum(whole, [before, after])
    if wrong is not None:
        problems.add(place_of(facts[name].pointer), f"{name} {wrong}")


def _number(facts: Mapping[str, FoundFact], name: str) -> Decimal | None:
    return Decimal(str(facts[name].payload["value"])) if name in facts else None


def _half_digit(value: Decimal) -> Decimal:
    return Decimal((0, (5,), -numbers.scale_of(value) - 1))
