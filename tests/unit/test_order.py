"""The files that begin first are there."""

from pathlib import Path

from tests.support.order import LONGEST, rank

TESTS = Path(__file__).parents[1]


def test_every_long_file_is_there_once() -> None:
    assert [name for name in LONGEST if not (TESTS / name).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)


def test_long_files_begin_first_and_the_others_keep_their_order() -> None:
    files = [TESTS / name for name in ("unit/test_order.py", LONGEST[1], "unit/test_bench.py", LONGEST[0])]

    assert [file.name for file in sorted(files, key=lambda file: rank(file, TESTS))] == [
        Path(LONGEST[0]).name, Path(LONGEST[1]).name, "test_order.py", "test_bench.py",
    ]  # fmt: skip
