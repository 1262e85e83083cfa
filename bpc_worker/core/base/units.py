"""Units: what can be converted into what, and what multiplying and dividing them gives."""

from collections.abc import Mapping
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
        "mOhm": ("resistance", Fraction(1, 1000)),
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
        "per_h": ("charge rate", Fraction(1)),
    }
)

NUMBER = ""  # what is left when the units cancel out

# (a, b, c): a times b is c, so c divided by a is b, and c divided by b is a. Nothing is converted on the way.
_PRODUCTS = (
    ("Ah", "V", "Wh"),
    ("W", "h", "Wh"),
    ("gCO2e_per_kWh", "kWh", "gCO2e"),
    ("kgCO2e_per_kWh", "kWh", "kgCO2e"),
    ("pct_per_month", "month", "pct"),
    ("W_per_Wh", "Wh", "W"),
    ("per_year", "year", NUMBER),
    ("per_h", "h", NUMBER),
)
MULTIPLY: Mapping[tuple[str, str], str] = MappingProxyType(
    {pair: c for a, b, c in _PRODUCTS for pair in ((a, b), (b, a))}
)
DIVIDE: Mapping[tuple[str, str], str] = MappingProxyType(
    {pair: rest for a, b, c in _PRODUCTS if c != NUMBER for pair, rest in (((c, a), b), ((c, b), a))}
    | {(unit, unit): NUMBER for unit in UNITS}
)


def conversion(source: str, target: str) -> Fraction | None:
    """How many `target` one `source` is; None when they measure different things."""
    (kind, factor), (wanted, base) = UNITS[source], UNITS[target]
    return factor / base if kind == wanted else None
