"""Did you mean …?"""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 60  # comparing takes time that grows with the square of the length
_MOST = 1_000


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a mistyped one probably means; None if none is near."""
    if len(word) > _LONGEST:
        return None
    likely = sorted(each for each in set(known) if abs(len(each) - len(word)) <= 1 + len(word) // 4)
    for each in likely:
        if each.lower() == word.lower():
            return each
    found = get_close_matches(word, likely[:_MOST], n=1, cutoff=0.7)
    return found[0] if found else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None) -> str | None:
    """A hint: the nearest word, or else another one."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near is not None else otherwise
