"""A bell: rung by AMQP, by a finished job, by shutdown. It says when to look, never what there is."""

import asyncio
import contextlib


class Wake:
    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._sources: set[str] = set()
        self._ignored: frozenset[str] = frozenset()

    def ring(self, source: str) -> None:
        self._sources.add(source)
        if source not in self._ignored:
            self._rung.set()

    async def wait(self, *, at_most: float) -> frozenset[str]:
        """Return who rang, or nobody after `at_most` seconds. Many rings during one wait count once."""
        await self._rung_within(at_most)
        self._rung.clear()  # before the next look, so a ring during the look is kept
        sources, self._sources = frozenset(self._sources), set()
        return sources

    async def pause(self, seconds: float, *, ignoring: frozenset[str]) -> None:
        """Let that time pass, or less if anybody else rings. Who was ignored is heard by the next wait."""
        self._ignored = ignoring
        if self._sources <= ignoring:
            self._rung.clear()
        await self._rung_within(seconds)
        self._ignored = frozenset()
        if self._sources:
            self._rung.set()

    async def _rung_within(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):  # polling is the normal case
            async with asyncio.timeout(seconds):
                await self._rung.wait()
