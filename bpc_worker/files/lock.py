"""A lock on a file, which ends at the latest with the process that holds it."""

import os
import time
from pathlib import Path


class FileLock:
    """Taken by several together or by one alone; two in one process exclude each other as well."""

    def __init__(self, path: Path) -> None:
        # Python passes no descriptor on to a started program, so nobody keeps the lock for us.
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def try_share(self) -> bool:
        import fcntl  # does not exist on Windows, where this module must still import

        return self._try(fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """A share already held is given up, whatever the answer."""
        import fcntl

        return self._try(fcntl.LOCK_EX)

    def wait_alone(self, at_most: float) -> bool:
        give_up = time.monotonic() + at_most
        while not self.try_alone():
            if time.monotonic() > give_up:
                return False
            time.sleep(0.05)
        return True

    def is_at(self, path: Path) -> bool:
        """Whether the file under that name is still the one that is locked here."""
        try:
            return os.path.samestat(os.fstat(self._file), path.lstat())
        except OSError:
            return False

    def close(self) -> None:
        os.close(self._file)

    def _try(self, kind: int) -> bool:
        import fcntl

        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
