"""The symbol for separate collection, a wheeled bin crossed out (Regulation (EU) 2023/1542, Annex VI Part B).

Drawn by us, in a square of 1 x 1 whose origin is the top left corner; the cross reaches its four sides.
"""

from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """Black, with straight ends; closed, it is an outline whose inside stays empty."""

    points: tuple[Point, ...]
    width: float
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Area:
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Disc:
    middle: Point
    radius: float


Shape: TypeAlias = Line | Area | Disc

_THIN, _THICK = 0.03, 0.05

WHEELED_BIN: tuple[Shape, ...] = (
    Line(((0.26, 0.295), (0.74, 0.295), (0.685, 0.81), (0.315, 0.81)), _THIN, closed=True),  # the body
    Line(((0.445, 0.345), (0.555, 0.345), (0.555, 0.385), (0.445, 0.385)), 0.02, closed=True),  # its grip
    Line(((0.225, 0.215), (0.775, 0.215), (0.795, 0.28), (0.205, 0.28)), _THIN, closed=True),  # the lid
    Line(((0.405, 0.215), (0.425, 0.15), (0.575, 0.15), (0.595, 0.215)), _THIN),  # its handle
    Line(((0.735, 0.34), (0.82, 0.34), (0.82, 0.265)), _THIN),  # the bar to pull it by
    Disc((0.64, 0.85), 0.062),  # the wheel
    Area(((0.325, 0.81), (0.405, 0.81), (0.405, 0.88), (0.325, 0.88))),  # the foot
    Line(((0.018, 0.018), (0.982, 0.982)), _THICK),
    Line(((0.982, 0.018), (0.018, 0.982)), _THICK),
)
