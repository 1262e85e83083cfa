"""Guess what a public view withholds, from what it shows and one hash over all of it.

As a stranger would: the rules are public, so the withheld figures of the carbon footprint follow from a few
numbers, of which rounded ones are shown. What is left is few enough to be tried.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import product

from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.passport.compile import nested

STATUSES = ("original", "repurposed", "re-used", "remanufactured", "waste")
STAGES = ("raw_material", "production", "distribution", "end_of_life")
CYCLES_A_YEAR = (20, 60, 250)
MOST_YEARS = 30
_MARK = "@"


def withheld_of(public: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """What the fields that hang on the service life and on the carbon footprint may be."""
    shown = {path: Decimal(value["value"]) for path, value in public.items() if isinstance(value, dict)}
    kilos = shown["carbon_footprint.absolute"] * 1000
    for tenth, years, cycles in product(range(-5, 6), range(1, MOST_YEARS), CYCLES_A_YEAR):
        total = kilos.quantize(Decimal("0.1")) + Decimal(tenth) / 10
        energy = shown["performance.usable_energy"] * cycles * years
        if _rounded(total / energy, 4) == shown["carbon_footprint.per_kwh"]:
            for stages in _stages(shown, total, energy):
                yield _fields(years, energy, total, stages)


def _stages(shown: Mapping[str, Decimal], total: Decimal, energy: Decimal) -> Iterator[tuple[Decimal, ...]]:
    """The last follows from the others."""
    likely = [[*_likely(shown, name, total, energy)] for name in STAGES]
    last = set(likely[-1])
    for some in product(*likely[:-1]):
        if (rest := total - sum(some)) in last:
            yield (*some, rest)


def _likely(shown: Mapping[str, Decimal], name: str, total: Decimal, energy: Decimal) -> Iterator[Decimal]:
    share = shown[f"carbon_footprint.share.{name}"]
    middle = (share * total / 100).quantize(Decimal("0.1"))
    for tenth in range(-5, 6):
        kilos = middle + Decimal(tenth) / 10
        fits = _rounded(kilos / energy, 4) == shown[f"carbon_footprint.stage_per_kwh.{name}"]
        if fits and _rounded(kilos * 100 / total, 2) == share:
            yield kilos


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)


def _fields(years: int, energy: Decimal, total: Decimal, stages: tuple[Decimal, ...]) -> dict[str, object]:
    named = {
        f"technical.stage.{name}": _qty("kgCO2e", kilos) for name, kilos in zip(STAGES, stages, strict=True)
    }
    return named | {
        "performance.life_years": {"unit": "year", "value": str(years)},
        "technical.total_energy": _qty("kWh", energy),
        "technical.carbon_total": _qty("kgCO2e", total),
        "technical.carbon_shown": True,
    }


def _qty(unit: str, value: Decimal) -> dict[str, str]:
    return {"unit": unit, "value": f"{value:.1f}"}


def guessed(
    public: Mapping[str, object],
    around: Mapping[str, object],
    hashes: Container[bytes],
    statuses: Iterable[str] = STATUSES,
) -> dict[str, object] | None:
    """The withheld fields under which the payload has one of these hashes.

    `around` is what stands in the payload besides its fields.
    """
    mass = Decimal(public["composition.mass"]["value"])  # type: ignore[index]
    masses = [f"{mass * 98 / 100 + step * Decimal('0.05'):.3f}" for step in range(int(mass * 4 / 5) + 1)]
    tails = [*withheld_of(public)]
    texts = [_text(public, around, tail) for tail in tails]
    for status, weight in product(statuses, masses):
        first, second, _ = texts[0]
        begun = hashlib.sha256(first + weight.encode() + second + status.encode())
        for tail, (_, _, rest) in zip(tails, texts, strict=True):
            tried = begun.copy()
            tried.update(rest)
            if tried.digest() in hashes:
                return tail | {
                    "identity.status": status,
                    "composition.component_mass": {"unit": "kg", "value": weight},
                    "composition.mass_balanced": True,
                }
    return None


def _text(
    public: Mapping[str, object], around: Mapping[str, object], tail: Mapping[str, object]
) -> tuple[bytes, bytes, bytes]:
    """The payload up to the mass of the components, up to the status, and the rest."""
    fields = {
        **public, **tail, "identity.status": _MARK, "composition.mass_balanced": True,
        "composition.component_mass": {"unit": "kg", "value": _MARK},
    }  # fmt: skip
    first, second, rest = encode({**around, "fields": nested(fields)}).split(_MARK.encode())
    return first, second, rest
