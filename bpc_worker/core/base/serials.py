"""Serial numbers of batteries: which characters are printed, and whether strangers could count them."""

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

MADE_CHARACTERS = 10  # of a serial that is drawn: 32 to the power of ten

_PLAIN = re.compile(r"[A-Z0-9._-]")
_LAST_NUMBER = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_NEAR = 10


class SerialError(ValueError):
    """A serial that is not printed without being asked for."""


def check_plain(serial: str) -> None:
    """What every scanner, proxy and keyboard leaves as it is."""
    odd = sorted({character for character in serial if not _PLAIN.fullmatch(character)})
    if odd or not serial:
        what = ", ".join(map(repr, odd)) or "nothing"
        raise SerialError(f"serial {serial!r}: {what} is not among A-Z 0-9 - _ .")


def count_up(serials: Iterable[str]) -> tuple[str, str] | None:
    """Two neighbours, where most serials differ from their next by no more than a small number."""
    rows: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for serial in serials:
        found = _LAST_NUMBER.fullmatch(serial)
        if found is not None:
            rows[found[1], found[3]][int(found[2])] = serial
    steps = [
        (after - before, (row[before], row[after]))
        for row in rows.values()
        for before, after in pairwise(sorted(row))
    ]
    small = [pair for step, pair in steps if step <= _NEAR]
    return small[0] if small and 2 * len(small) >= len(steps) else None
