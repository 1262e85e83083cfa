"""Serials that are printed, and serials that strangers can count."""

from random import Random

import pytest

from bpc_worker.core.base.identifier import CROCKFORD
from bpc_worker.core.base.serials import MADE_CHARACTERS, SerialError, check_plain, count_up


@pytest.mark.parametrize("serial", ["A", "0", "HLS-EV78_2028.000417", "-_."])
def test_plain_serials_are_printed(serial: str) -> None:
    check_plain(serial)


@pytest.mark.parametrize(
    ("serial", "said"),
    [
        ("A/B", "serial 'A/B': '/' is not among A-Z 0-9 - _ ."),
        ("a", "'a' is not among"),
        ("A B\n", r"'\\n', ' ' is not among"),
        ("É", "'É' is not among"),
        ("", "nothing is not among"),
    ],
)
def test_others_are_refused_by_name(serial: str, said: str) -> None:
    with pytest.raises(SerialError, match=said):
        check_plain(serial)


@pytest.mark.parametrize(
    ("serials", "pair"),
    [
        (["HLS-000417", "HLS-000418"], ("HLS-000417", "HLS-000418")),
        (["9", "10"], ("9", "10")),
        (["A3X", "A1X", "A2X"], ("A1X", "A2X")),
        (["2028-0010", "2028-0020", "2028-0030"], ("2028-0010", "2028-0020")),
        (["S1", "S2", "S900", "T"], ("S1", "S2")),
    ],
)
def test_serials_that_count_up_are_seen(serials: list[str], pair: tuple[str, str]) -> None:
    assert count_up(serials) == pair


@pytest.mark.parametrize(
    "serials",
    [
        [], ["HLS-000417"], ["A1", "B2", "C3"], ["HLS-000417", "HLS-000917"], ["S1", "S2", "S900", "S5000"],
        ["AAA", "AAB"], ["S1", "S01"],
    ],
)  # fmt: skip
def test_others_do_not(serials: list[str]) -> None:
    assert count_up(serials) is None


def test_serials_that_are_drawn_do_not_count_up() -> None:
    dice = Random(1)
    drawn = ["".join(dice.choices(CROCKFORD, k=MADE_CHARACTERS)) for _ in range(10_000)]

    assert count_up(drawn) is None
