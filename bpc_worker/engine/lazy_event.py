"""An event that is set once. Mostly nobody waits for it, and then no future has to be made."""

import asyncio


class LazyEvent:
    __slots__ = ("_future", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._future: asyncio.Future[None] | None = None

    def set(self) -> None:
        self.is_set = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    @property
    def future(self) -> asyncio.Future[None]:
        """For `asyncio.wait`, in the loop in which it is set."""
        if self._future is None or self._future.cancelled():
            self._future = asyncio.get_running_loop().create_future()
            if self.is_set:
                self._future.set_result(None)
        return self._future

    # The names of before, for runner and running job until they say the new ones.
    happen = set  # noqa: A003 - the method above

    @property
    def happened(self) -> bool:
        return self.is_set


Once = LazyEvent
