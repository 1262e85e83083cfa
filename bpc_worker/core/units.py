"""Units: what can be converted into what, and what multiplying and dividing them gives."""

from fractions import Fraction
from types import MappingProxyType

# unit -> (dimension, how many base units it is); units of one dimension convert into each other.
UNITS = MappingProxyType(
    {
        "kg": ("mass", Fraction(1)),
        "g": ("mass", Fraction(1, 1000)),
        "mg": ("mass", Fraction(1, 1_000_000)),
        "t": ("mass", Fraction(1000)),
        "kWh": ("energy", Fraction(1000)),
        "Wh": ("energy", Fraction(1)),
        "Ah": ("charge", Fraction(1)),
        "V": ("voltage", Fraction(1)),
        "W": ("power", Fraction(1)),
        "Ohm": ("resistance", Fraction(1)),
        "degC": ("temperature", Fraction(1)),
        "h": ("time", Fraction(60)),
        "min": ("time", Fraction(1)),
        "month": ("calendar", Fraction(1)),
        "year": ("calendar", Fraction(12)),
        "cycles": ("cycles", Fraction(1)),
        "each": ("pieces", Fraction(1)),
        "pct": ("share", Fraction(1)),
        "gCO2e": ("emission", Fraction(1)),
        "kgCO2e": ("emission", Fraction(1000)),
        "tCO2e": ("emission", Fraction(1_000_000)),
        "gCO2e_per_kWh": ("emission per energy", Fraction(1)),
        "kgCO2e_per_kWh": ("emission per energy", Fraction(1000)),
        "pct_per_month": ("share per month", Fraction(1)),
        "W_per_Wh": ("power per energy", Fraction(1)),
        "per_year": ("rate", Fraction(1)),
    }
)

# a × b = c, and with it c ÷ a = b and c ÷ b = a. Numbers need no conversion: the units fit as they are.
_PRODUCTS = (
    ("Ah", "V", "Wh"),
    ("W", "h", "Wh"),
    ("gCO2e_per_kWh", "kWh", "gCO2e"),
    ("kgCO2e_per_kWh", "kWh", "kgCO2e"),
    ("pct_per_month", "month", "pct"),
    ("W_per_Wh", "Wh", "W"),
)
MULTIPLY = MappingProxyType({pair: c for a, b, c in _PRODUCTS for pair in ((a, b), (b, a))})
DIVIDE = MappingProxyType({pair: q for a, b, c in _PRODUCTS for pair, q in (((c, a), b), ((c, b), a))})


def conversion(source: str, target: str) -> Fraction | None:
    """How many `target` one `source` is; None when they measure different things."""
    (kind, factor), (wanted, base) = UNITS[source], UNITS[target]
    return factor / base if kind == wanted else None


def nearest_unit(name: str) -> str | None:
    """The known unit that a mistyped one probably means: the same letters, or one letter apart."""
    for unit in UNITS:
        if unit.lower() == name.lower() or _one_apart(unit, name):
            return unit
    return None


def _one_apart(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1 or len(short) < 2:  # noqa: PLR2004 - one letter is no typing error of another
        return False
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return any(long[:index] + long[index + 1 :] == short for index in range(len(long)))
