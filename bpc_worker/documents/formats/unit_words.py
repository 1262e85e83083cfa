"""Units in the words of published forms, as the units of the vocabulary know them."""

_WORDS = {
    "unit:gram": "g",
    "unit:kilogram": "kg",
    "unit:tonneMetricTon": "t",
    "unit:partPerMillion": "ppm",
    "unit:percent": "%",
    "unit:day": "days",
    "unit:month": "months",
    "unit:year": "years",
    "kg CO2 / kWh": "kgCO2e/kWh",
    "kgCO2-eq/kWh": "kgCO2e/kWh",
}


def our_unit(word: str) -> str:
    """The word itself where it needs no other."""
    return _WORDS.get(word, word)
