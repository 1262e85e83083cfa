"""Something that happens once. Mostly nobody waits for it, and then no future has to be made."""

import asyncio


class Once:
    __slots__ = ("_future", "happened")

    def __init__(self) -> None:
        self.happened = False
        self._future: asyncio.Future[None] | None = None

    def happen(self) -> None:
        self.happened = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    @property
    def future(self) -> asyncio.Future[None]:
        """For `asyncio.wait`, in the loop in which it happens."""
        if self._future is None or self._future.cancelled():
            self._future = asyncio.get_running_loop().create_future()
            if self.happened:
                self._future.set_result(None)
        return self._future
