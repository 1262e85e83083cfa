"""What the demo says where there is no terminal."""

from io import StringIO
from uuid import UUID

from rich.console import Console

from bpc_worker.demo.screen import Screen, Step


def test_elsewhere_than_on_a_terminal_a_line_tells_each_change_and_a_second_attempt() -> None:
    said = StringIO()
    console = Console(file=said, force_terminal=False, width=120)

    def step(status: str, attempts: int, seconds: float | None = None) -> Step:
        return Step(UUID(int=1), "COMPILE_PASSPORT", "EV-1", status, attempts, None, seconds)

    with Screen(console) as screen:
        for seen in (step("RUNNING", 1), step("RUNNING", 1), step("RUNNING", 2), step("SUCCEEDED", 2, 0.405)):
            screen.show([seen])

    assert [line.split() for line in said.getvalue().splitlines()] == [
        ["COMPILE_PASSPORT", "EV-1", "RUNNING"],
        ["COMPILE_PASSPORT", "EV-1", "RUNNING", "attempt", "2"],
        ["COMPILE_PASSPORT", "EV-1", "SUCCEEDED", "405", "ms", "attempt", "2"],
    ]
