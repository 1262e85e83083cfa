"""What the soak calls growth."""

from dataclasses import replace

import pytest

from tests.bench.soak import Sample, grown

FLAT = Sample(rss_mb=100, children_mb=80, files=30, threads=4, children=2, connections=5)


def test_what_stays_is_flat_and_the_first_fifth_does_not_count() -> None:
    warming_up = replace(FLAT, rss_mb=40, children=0)

    assert grown([warming_up] * 2 + [FLAT] * 8) == {}


@pytest.mark.parametrize(
    ("name", "allowed", "too_much"),
    [("rss_mb", 107, 107.1), ("children_mb", 86, 86.1), ("files", 33, 34), ("threads", 6, 7)],
)
def test_what_grows_is_named_with_what_it_was_and_is(name: str, allowed: float, too_much: float) -> None:
    before = [FLAT] * 4
    last: dict[str, float] = {name: allowed}

    assert grown([*before, replace(FLAT, **last)]) == {}  # type: ignore[arg-type]  # some field of it
    last = {name: too_much}
    found = grown([*before, replace(FLAT, **last)])  # type: ignore[arg-type]
    assert found == {name: (float(getattr(FLAT, name)), round(too_much, 1))}
