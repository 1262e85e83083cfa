"""The symbol for separate collection, a wheeled bin crossed out (Regulation (EU) 2023/1542, Annex VI, Part B).

Drawn by us, in a square of 1 x 1 whose origin is the top left corner; the cross reaches into its corners.
"""

from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """Black, with square ends; closed, it is an outline whose inside stays empty."""

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

_THIN, _THICK = 0.032, 0.055

WHEELED_BIN: tuple[Shape, ...] = (
    Line(((0.27, 0.30), (0.73, 0.30), (0.685, 0.80), (0.335, 0.80)), _THIN, closed=True),  # the body
    Line(((0.36, 0.38), (0.64, 0.38), (0.64, 0.46), (0.36, 0.46)), _THIN, closed=True),  # its grip
    Area(((0.22, 0.20), (0.78, 0.20), (0.80, 0.29), (0.20, 0.29))),  # the lid
    Line(((0.40, 0.19), (0.42, 0.125), (0.58, 0.125), (0.60, 0.19)), _THIN),  # its handle
    Line(((0.74, 0.33), (0.81, 0.33), (0.81, 0.29)), _THIN),  # the handle to pull it by
    Disc((0.645, 0.845), 0.065),  # the wheel
    Area(((0.345, 0.80), (0.425, 0.80), (0.425, 0.875), (0.345, 0.875))),  # the foot
    Line(((0.055, 0.055), (0.945, 0.945)), _THICK),
    Line(((0.945, 0.055), (0.055, 0.945)), _THICK),
)
