"""Units as suppliers write them, turned exactly into the one that a name of the vocabulary has."""

import re
from collections.abc import Mapping
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.documents.problems import Unfit, quoted

# Per unit of the vocabulary: how it is spelled, and what one of another is worth in it.
_KNOWN: Mapping[str, str] = {
    "kg": "kg=1 g=0.001 mg=0.000001 t=1000",
    "Ah": "ah=1 mah=0.001",
    "V": "v=1 kv=1000",
    "W": "w=1 kw=1000",
    "kWh": "kwh=1 wh=0.001",
    "mOhm": "mohm=1 mω=1 ohm=1000 ω=1000",
    "%": "%=1 pct=1 percent=1 prozent=1 ppm=0.0001",
    "%/month": "%/month=1 pct/month=1 %/monat=1",
    "degC": "degc=1 °c=1 c=1 celsius=1",
    "months": "months=1 month=1 monate=1 years=12 year=12 jahre=12",
    "years": "years=1 year=1 a=1 jahre=1",
    "min": "min=1 minutes=1 h=60",
    "1/h": "1/h=1 c=1 a/ah=1",
    "kgCO2e": "kgco2e=1 kg=1 gco2e=0.001 g=0.001 tco2e=1000 t=1000",
    "tCO2e": "tco2e=1 t=1 kgco2e=0.001 kg=0.001",
    "kgCO2e/kWh": "kgco2e/kwh=1 kg/kwh=1 gco2e/kwh=0.001 g/kwh=0.001",
}
_FACTORS = {
    unit: {word: Decimal(worth) for word, worth in (each.split("=") for each in known.split())}
    for unit, known in _KNOWN.items()
}
_MILLI = frozenset({"mg", "mah", "mohm", "mω"})  # with a capital M a thousand million times as much
_NONE = frozenset({"", "-", "1"})
_COUNTED = frozenset({"cycles", "zyklen", "cycle"})
_BLANKS = re.compile(r"[\s_]+")
_EQUIVALENT = re.compile("co2-?eq?")
_SUBSCRIPT = str.maketrans({"\N{SUBSCRIPT TWO}": "2", "\N{OHM SIGN}": "Ω"})


def in_unit(value: Decimal, given: str, wanted: str) -> Decimal:
    """The value in the wanted unit; one without a unit is taken to be in it."""
    word = spelled(given)
    if word in _NONE:
        return value
    worth = _FACTORS.get(wanted, {}).get(word)
    if worth is None or (word in _MILLI and given.strip().startswith("M")):
        known = ", ".join(_FACTORS.get(wanted, {})) or "no unit"
        raise Unfit(f"the unit {quoted(given)} does not fit; known are: {known}")
    return value if worth == 1 else numbers.multiply(value, worth)


def without_unit(given: str) -> None:
    """Unfit where a unit is given that a text or a count does not have."""
    if spelled(given) not in _NONE | _COUNTED:
        raise Unfit(f"the unit {quoted(given)} does not fit; it has none")


def spelled(unit: str) -> str:
    return _EQUIVALENT.sub("co2e", _BLANKS.sub("", unit.translate(_SUBSCRIPT)).lower())
