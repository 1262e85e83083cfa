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
    likely.sort(key=lambda each: -_alike(word.lower(), each.lower()))
    found = get_close_matches(word, likely[:_MOST], n=1, cutoff=0.6)
    same = [each for each in likely[:1] if each.lower() == word.lower()]
    return next(iter(same + found), None)


def _alike(word: str, other: str) -> int:
    """How many letters at the beginning and at the end are the same."""
    return _same(word, other) + _same(word[::-1], other[::-1])


def _same(word: str, other: str) -> int:
    pairs = enumerate(zip(word, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(word), len(other)))


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint: the nearest word, or else another one."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near is not None else otherwise
