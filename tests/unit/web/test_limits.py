"""Token buckets: so often, so many at once, of so many callers."""

from bpc_worker.web.layer.limits import Buckets


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_and_then_so_many_a_second() -> None:
    clock = Clock()
    buckets = Buckets(2.0, 3.0, clock=clock)

    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.wait("b") == 0
    clock.now = 0.5
    assert buckets.wait("a") == 0
    assert buckets.wait("a") == 0.5
    clock.now = 100
    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_whoever_asked_longest_ago_is_forgotten_first() -> None:
    buckets = Buckets(1.0, 1.0, clock=Clock(), most_keys=2)
    assert [buckets.wait(each) for each in "aba"] == [0, 0, 1]
    buckets.wait("c")

    assert buckets.wait("a") == 1
    assert buckets.wait("b") == 0  # forgotten, and so full again
