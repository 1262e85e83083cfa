"""What an init system does for workers, and a probe that asks on and on."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.support.worker import Worker


def supervise(
    url: str,
    settings: Mapping[str, object],
    until: Callable[[], object],
    *,
    within: float,
    workers: int = 1,
    torment: Callable[[list[Worker]], None] = lambda _: None,
) -> list[int]:
    """Keep workers running, each replaced when it ends, until the fact; exit codes of those that ended."""
    ends_at = time.monotonic() + within
    codes: list[int] = []
    running = [Worker(url, **settings) for _ in range(workers)]
    try:
        while not until():
            assert time.monotonic() < ends_at, f"not within {within:g} s; exits so far: {codes}"
            torment(running)
            for place, each in enumerate(running):
                code = each.exit_code
                if code is not None:
                    codes.append(code)
                    each.end()
                    running[place] = Worker(url, **settings)
            time.sleep(0.05)
    finally:
        for each in running:
            each.end()
    return codes


class Probing:
    """Answers of /v1/health/live, asked for five times a second."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.answers: list[tuple[int, float]] = []  # status and seconds

    def _ask(self) -> None:
        while not self._enough.wait(0.2):
            asked_at = time.monotonic()
            status, _ = self._worker.get("/v1/health/live", timeout=1.0)
            self.answers.append((status, time.monotonic() - asked_at))

    @property
    def slowest(self) -> float:
        return max(seconds for _, seconds in self.answers)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._enough.set()
        self._thread.join(timeout=5)


@contextmanager
def probing(worker: Worker) -> Iterator[Probing]:
    probe = Probing(worker)
    probe.start()
    try:
        yield probe
    finally:
        probe.stop()
