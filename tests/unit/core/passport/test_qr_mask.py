import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qrcode import util

from bpc_worker.core.passport.qr_mask import best_mask, mask_patterns, penalty

SMALLEST, TYPICAL, LARGEST = 21, 57, 177


def square(rows: list[list[bool]]) -> int:
    return int("".join("01"[module] for row in rows for module in row), 2)


def modules_of(number: int, size: int) -> list[list[bool]]:
    bits = f"{number:0{size * size}b}"
    return [[bit == "1" for bit in bits[at : at + size]] for at in range(0, size * size, size)]


def checkerboard(size: int) -> list[list[bool]]:
    """What costs nothing."""
    return [[(i + j) % 2 == 1 for j in range(size)] for i in range(size)]


def with_line(modules: str, size: int = SMALLEST) -> list[list[bool]]:
    """`modules` in a row of a checkerboard."""
    rows = checkerboard(size)
    after = "01" if modules[-1] == "1" else "10"
    rows[-3] = [module == "1" for module in ("0101" + modules + after * size)[:size]]
    return rows


@pytest.mark.parametrize("size", [SMALLEST, TYPICAL, LARGEST])
@pytest.mark.parametrize("number", range(8))
def test_a_mask_inverts_the_modules_of_its_formula(number: int, size: int) -> None:
    inverts = util.mask_func(number)

    assert mask_patterns(size)[number] == square([[inverts(i, j) for j in range(size)] for i in range(size)])


@pytest.mark.parametrize("size", [SMALLEST, TYPICAL])
def test_a_square_of_one_colour_pays_for_every_line_every_block_and_the_imbalance(size: int) -> None:
    lines, blocks, imbalance = 2 * size * (size - 2), 3 * (size - 1) ** 2, 100

    assert penalty(0, size) == lines + blocks + imbalance
    assert penalty((1 << size * size) - 1, size) == lines + blocks + imbalance


@pytest.mark.parametrize(
    ("modules", "cost"),
    [
        ("0000", 0),
        ("00000", 3),
        ("000000", 4),
        ("0000000000000", 11),
        ("0000011111", 6),
        ("1011101", 0),
        ("1011101000", 0),
        ("10111010000", 40),
        ("00001011101", 40),
        ("000010111010000", 80),
        ("0000010111010000", 83),
        ("00001111101111", 3),
    ],
)
def test_a_line_costs_what_the_rules_say_across_and_down(modules: str, cost: int) -> None:
    rows = with_line(modules)
    columns = [list(column) for column in zip(*rows, strict=True)]

    assert penalty(square(rows), SMALLEST) == cost
    assert penalty(square(columns), SMALLEST) == cost


@pytest.mark.parametrize(("side", "cost"), [(1, 0), (2, 3), (3, 4 * 3 + 2 * 3)])
def test_blocks_of_one_colour_count_where_they_overlap_too(side: int, cost: int) -> None:
    """3 x 3 modules hold four blocks of 2 x 2; with light neighbours two of its lines are five long."""
    rows = checkerboard(SMALLEST)
    for row in rows[9 : 9 + side]:
        row[5 : 5 + side] = [False] * side

    assert penalty(square(rows), SMALLEST) == cost


@settings(deadline=None)
@given(
    st.sampled_from([SMALLEST, 25, 45]), st.integers(0, 2**32), st.sampled_from([0.05, 0.3, 0.5, 0.6, 0.95])
)
def test_the_penalty_of_any_square_is_that_of_qrcode(size: int, seed: int, share: float) -> None:
    dice = random.Random(seed)
    rows = [[dice.random() < share for _ in range(size)] for _ in range(size)]

    assert penalty(square(rows), size) == util.lost_point(rows)


@pytest.mark.parametrize("dark", [0, 125, 249, 250, 251, 374, 375, 376, 500, 625])
def test_the_share_of_dark_modules_counts_in_whole_steps_of_5_percent(dark: int) -> None:
    """25 modules a side have exactly 20, 40, 60 and 80 %, where a fraction could be rounded either way."""
    size = 25
    modules = (1 << dark) - 1

    assert penalty(modules, size) == util.lost_point(modules_of(modules, size))


def test_the_lowest_number_wins_among_equal_penalties() -> None:
    worst, best = mask_patterns(SMALLEST)[1], mask_patterns(SMALLEST)[0]

    assert penalty(worst, SMALLEST) > penalty(best, SMALLEST)
    assert best_mask(0, [worst, best, best, worst], SMALLEST) == 1
    assert best_mask(0, [best, best], SMALLEST) == 0
