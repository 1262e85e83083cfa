"""Did you mean …?"""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    found = get_close_matches(word, sorted(set(known)), n=1, cutoff=0.7)
    return found[0] if found else None
