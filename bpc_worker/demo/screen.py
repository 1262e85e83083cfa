"""What the demo shows: the steps of a build as they move, and a QR code made of letters."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self
from uuid import UUID

from rich.console import Console
from rich.live import Live
from rich.table import Table

from bpc_worker.domain.qr_image import QUIET_MODULES, qr_matrix

_COLOURS = {
    "SUCCEEDED": "green",
    "RUNNING": "cyan",
    "QUEUED": "yellow",
    "FAILED": "red",
    "DEAD_LETTER": "red",
}
_HALF_BLOCKS = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}


@dataclass(frozen=True, slots=True)
class Step:
    """One job of the build."""

    job_id: UUID
    type: str
    about: str
    status: str
    attempts: int
    lease_owner: str | None
    seconds: float | None

    @property
    def took(self) -> str:
        return "" if self.seconds is None else f"{self.seconds * 1000:.0f} ms"


class Screen:
    """A live table on a terminal, a line per change anywhere else."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._told: dict[UUID, tuple[str, int]] = {}

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        self._console.print(f"[bold red]{text}[/]", highlight=False)

    def show(self, steps: list[Step]) -> None:
        if self._live is not None:
            self._live.update(_table(steps), refresh=True)
            return
        for step in steps:
            now = step.status, step.attempts
            if self._told.get(step.job_id) != now:
                self._told[step.job_id] = now
                again = f"  attempt {step.attempts}" if step.attempts > 1 else ""
                line = f"  {step.type:<17} {step.about:<13} {step.status:<10} {step.took}{again}"
                self._console.print(line.rstrip(), highlight=False, markup=False)


def _table(steps: list[Step]) -> Table:
    table = Table("step", "document", "status", "attempt", "worker", "took")
    for step in steps:
        colour = _COLOURS.get(step.status, "white")
        status = f"[{colour}]{step.status}[/]"
        table.add_row(step.type, step.about, status, str(step.attempts), step.lease_owner or "", step.took)
    return table


def draw_code(console: Console, text: str) -> None:
    """Dark modules stay dark on a dark terminal: light ones are drawn, the quiet zone with them."""
    matrix = qr_matrix(text)
    side = matrix.size + 2 * QUIET_MODULES
    rows = [[False] * side for _ in range(side + side % 2)]
    for y, bits in enumerate(matrix.rows):
        for x in range(matrix.size):
            rows[y + QUIET_MODULES][x + QUIET_MODULES] = bool(bits >> (matrix.size - 1 - x) & 1)
    if console.is_terminal and console.width < side:
        console.print(f"(the terminal has {console.width} columns, the code needs {side}: see qr.png)")
        return
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        line = "".join(_HALF_BLOCKS[pair] for pair in zip(upper, lower, strict=True))
        console.print(f"[white on black]{line}[/]", highlight=False)
