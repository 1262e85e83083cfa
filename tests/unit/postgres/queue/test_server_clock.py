"""What ends by the jump of a clock alone is not taken from its holder at once."""

from datetime import timedelta

from bpc_worker.postgres.queue.server_clock import ServerClock
from bpc_worker.testing import NOON


class Times:
    """Ours and the server's."""

    def __init__(self) -> None:
        self.ours = 500.0
        self.jumps = 0.0
        self.clock = ServerClock(60, lambda: self.ours)

    def pass_by(self, seconds: float, *, jump: float = 0.0) -> float:
        self.ours += seconds
        self.jumps += jump
        return self.clock.jumped(NOON + timedelta(seconds=self.ours + self.jumps))


def test_time_that_passes_for_both_is_no_jump() -> None:
    times = Times()

    assert [times.pass_by(15, jump=1.5) for _ in range(10)] == [0.0] * 10, "nor is one that is corrected"


def test_a_jump_is_remembered_for_one_lease() -> None:
    times = Times()
    times.pass_by(0)

    assert times.pass_by(15, jump=90) == 90
    assert times.pass_by(30) == 90
    assert times.pass_by(20, jump=10) == 100, "another one comes on top"
    assert times.pass_by(59) == 100
    assert times.pass_by(1) == 0


def test_a_clock_that_is_put_back_takes_no_lease() -> None:
    times = Times()
    times.pass_by(0)

    assert times.pass_by(15, jump=-90) == 0
