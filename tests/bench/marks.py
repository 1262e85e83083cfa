"""The bench's end of the pipe in which handlers say when they began."""

import os
import select
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Heard:
    """Marks as they come: number, and the system-wide monotonic clock at the handler's first line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # For reading and writing: opening does not wait for a writer, and the last one's end is no end.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""

    def next(self, *, within: float) -> tuple[int, int]:
        ends_at = time.monotonic() + within
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, ends_at - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no handler began within {within:g} s")
            self._rest += os.read(self._pipe, 65536)
        line, _, self._rest = self._rest.partition(b"\n")
        number, began_ns = line.split()
        return int(number), int(began_ns)

    def close(self) -> None:
        os.close(self._pipe)


@contextmanager
def marks() -> Iterator[Heard]:
    with tempfile.TemporaryDirectory(prefix="bpc-bench-") as folder:
        path = Path(folder) / "marks"
        os.mkfifo(path)
        heard = Heard(path)
        try:
            yield heard
        finally:
            heard.close()
