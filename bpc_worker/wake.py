"""A bell: rung by AMQP, by a finished job, by shutdown. It says when to look, never what there is."""

import asyncio
import contextlib


class Wake:
    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._sources: set[str] = set()

    def ring(self, source: str) -> None:
        self._sources.add(source)
        self._rung.set()

    async def wait(self, *, at_most: float) -> frozenset[str]:
        """Return who rang, or nobody after `at_most` seconds. Many rings during one wait count once."""
        with contextlib.suppress(TimeoutError):  # polling is the normal case
            async with asyncio.timeout(at_most):
                await self._rung.wait()
        self._rung.clear()  # before the next look, so a ring during the look is kept
        sources, self._sources = frozenset(self._sources), set()
        return sources
