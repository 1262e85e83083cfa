"""The clock of this machine, for what is compared with the database's."""

import time


def now() -> float:
    """Seconds since 1970."""
    return time.time()
