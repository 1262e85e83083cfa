"""After claims that failed: who asks for less, and for how long."""

from bpc_worker.engine.claiming.caution import Caution


class Desk:
    def __init__(self) -> None:
        self.now = 1000.0
        self.caution = Caution(lambda: self.now)

    def fail(self, times: int) -> None:
        for _ in range(times):
            self.caution.failed()


def test_one_failure_is_no_reason_and_two_are() -> None:
    desk = Desk()
    desk.fail(1)
    assert not desk.caution.careful
    desk.fail(1)
    assert desk.caution.careful


def test_the_first_time_one_answer_is_enough() -> None:
    desk = Desk()
    desk.fail(7)
    desk.caution.answered()

    assert not desk.caution.careful


def test_who_fails_again_soon_is_careful_for_longer_each_time() -> None:
    desk, seconds = Desk(), []
    for _ in range(9):
        desk.fail(2)
        desk.caution.answered()
        began = desk.now
        while desk.caution.careful:
            desk.now += 0.5
        seconds.append(desk.now - began)
        desk.now += 1

    assert seconds == [0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_after_a_good_minute_everything_is_forgotten() -> None:
    desk = Desk()
    for _ in range(3):
        desk.fail(2)
        desk.caution.answered()
    desk.now += 120
    desk.fail(2)
    desk.caution.answered()

    assert not desk.caution.careful
