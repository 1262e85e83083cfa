"""Which of the eight masks of ISO/IEC 18004 makes a QR code easiest to read.

A square of modules is one integer: row by row, the top left module in the highest bit, 1 for dark. So
`modules >> 1` lays over each module its left neighbour and `modules >> size` the one above it, and a rule
is a few operations on the whole square instead of a loop over its modules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_TILE = 12  # every mask repeats after twelve modules, in both directions

# Row i, column j; clause 7.8.2.
_INVERTED: tuple[Callable[[int, int], bool], ...] = (
    lambda i, j: (i + j) % 2 == 0,
    lambda i, _: i % 2 == 0,
    lambda _, j: j % 3 == 0,
    lambda i, j: (i + j) % 3 == 0,
    lambda i, j: (i // 2 + j // 3) % 2 == 0,
    lambda i, j: i * j % 2 + i * j % 3 == 0,
    lambda i, j: (i * j % 2 + i * j % 3) % 2 == 0,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2 == 0,
)


def mask_patterns(size: int) -> tuple[int, ...]:
    """The eight masks over a whole square, fixed patterns included."""
    return tuple(_pattern(inverted, size) for inverted in _INVERTED)


def best_mask(unmasked: int, masks: Sequence[int], size: int) -> int:
    """The number of the mask with the lowest penalty, the lowest number among equals."""
    return min(range(len(masks)), key=lambda number: penalty(unmasked ^ masks[number], size))


def penalty(modules: int, size: int) -> int:
    """The sum of the four rules of clause 7.8.3; the quiet zone does not count."""
    across, down = _directions(size)
    area = size * size
    light = modules ^ ((1 << area) - 1)
    like_left = ~(modules ^ modules >> 1) & across.after_one
    like_above = ~(modules ^ modules >> size) & down.after_one
    blocks = like_left & like_left >> size & like_above  # 2 x 2 of one colour, seen from the bottom right
    finders = _finders(modules, light, across) + _finders(modules, light, down)
    fives = abs(20 * modules.bit_count() - 10 * area) // area  # whole steps of 5 % away from half dark
    return _runs(like_left, 1) + _runs(like_above, size) + 3 * blocks.bit_count() + 40 * finders + 10 * fives


@dataclass(frozen=True, slots=True, kw_only=True)
class _Direction:
    """To the right or downwards: how far the next module is, and which modules come after 1 or 10 others."""

    step: int
    after_one: int
    after_ten: int


@lru_cache(maxsize=8)
def _directions(size: int) -> tuple[_Direction, _Direction]:
    def right_of(columns: int) -> int:
        return int(("0" * columns + "1" * (size - columns)) * size, 2)

    def below(rows: int) -> int:
        return (1 << size * (size - rows)) - 1

    return (
        _Direction(step=1, after_one=right_of(1), after_ten=right_of(10)),
        _Direction(step=size, after_one=below(1), after_ten=below(10)),
    )


def _runs(like_previous: int, step: int) -> int:
    """3 for five modules of one colour in a line, 1 for each further one: n - 2 for a run of n.

    Such a run ends n - 4 stretches of five, so it is these and 2 for the first of them.
    """
    pairs = like_previous & like_previous >> step
    fives = pairs & pairs >> 2 * step
    return fives.bit_count() + 2 * (fives & ~(fives >> step)).bit_count()


def _finders(dark: int, light: int, direction: _Direction) -> int:
    """How often 1:1:3:1:1 stands in a line with four light modules before or after it."""
    step = direction.step
    three_dark = dark & dark >> step & dark >> 2 * step
    two_light = light & light >> step
    four_light = two_light & two_light >> 2 * step
    middle = light & three_dark >> step & light >> 4 * step
    finder = dark & middle >> step & dark >> 6 * step
    # Both are eleven modules long and cannot be the same eleven.
    either = finder & four_light >> 7 * step | four_light & finder >> 4 * step
    return (either & direction.after_ten).bit_count()


def _pattern(inverted: Callable[[int, int], bool], size: int) -> int:
    tile = ["".join("01"[inverted(i, j)] for j in range(_TILE)) for i in range(_TILE)]
    rows = [(row * (size // _TILE + 1))[:size] for row in tile]
    return int("".join(rows[i % _TILE] for i in range(size)), 2)
