"""Golden vectors of the draws of property tests: SHA-256 of a canonical array, a number, a remainder."""

import hashlib
import json
from datetime import date, timedelta
from typing import Any

# generator, first value, number of values, in units of 10^-scale; or the listed values
RANGES = [
    ("Int in [-3, 3]", -3, 7, None),
    ("Int in [0, 1000000000000]", 0, 10**12 + 1, None),
    ("Dec(1) in [0.1, 500.0]", 1, 5000, 1),
    ("Dec(3) in [-1.000, 1.000]", -1000, 2001, 3),
]
FIRST_DAY, DAYS = date(2026, 12, 30), 400
CHOICES = ["M1", "N1", "L"]
TESTS = [
    (0, "positive", 0, "e"),
    (42, "positive", 0, "e"),
    (42, "positive", 499, "e"),
    (42, "shares", 7, "years"),
]


def number(seed: int, test: str, case: int, variable: str) -> int:
    """The 32 bytes as one unsigned number, the first byte the highest."""
    name = json.dumps([seed, test, case, variable], separators=(",", ":"), ensure_ascii=False)
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def decimal(units: int, scale: int) -> str:
    digits = f"{abs(units):0{scale + 1}}"
    return f"{'-' if units < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def draws(drawn: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for generator, first, count, scale in RANGES:
        value = first + drawn % count
        found[generator] = value if scale is None else decimal(value, scale)
    last_day = FIRST_DAY + timedelta(days=DAYS - 1)
    found[f'Date in [date("{FIRST_DAY}"), date("{last_day}")]'] = str(
        FIRST_DAY + timedelta(days=drawn % DAYS)
    )
    found['Text in {"M1", "N1", "L"}'] = CHOICES[drawn % len(CHOICES)]
    return found


def vectors() -> dict[str, dict[str, Any]]:
    cases = [
        {
            "generator": generator,
            "seed": seed,
            "test": test,
            "case": case,
            "variable": variable,
            "value": value,
        }
        for seed, test, case, variable in TESTS
        for generator, value in draws(number(seed, test, case, variable)).items()
    ]
    return {"cases": {"description": "what a generator draws in a case of a test", "cases": cases}}
