"""Plots as SVG, made by the server: no number passes through a script, and no library draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 600
HEIGHT: Final = 60
_GAP: Final = 1


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    y: int
    width: int
    height: int
    title: str


@dataclass(frozen=True, slots=True)
class Bars:
    """One for each count, as high as it is large beside the largest."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    most: int


def bars(counts: Sequence[tuple[str, int]]) -> Bars:
    most = max((count for _, count in counts), default=0)
    step = WIDTH // max(len(counts), 1)
    made = tuple(
        Bar(
            x=number * step,
            y=HEIGHT - (height := _height(count, most)),
            width=max(step - _GAP, 1),
            height=height,
            title=f"{name}: {count:,}",
        )
        for number, (name, count) in enumerate(counts)
    )
    return Bars(WIDTH, HEIGHT, made, most)


def _height(count: int, most: int) -> int:
    """What there is shows, however little."""
    return 0 if not count or not most else max(1, round(HEIGHT * count / most))
