"""The producer: looks into the inbox, and makes jobs of what lies there.

Every step may be the last. A file is taken out of the inbox, its job is committed under a key made of its
bytes, then it moves to done/: whoever finds it in between does the same again, and the key makes it one job.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Protocol

from bpc_worker.engine.background import WorkerHooks
from bpc_worker.inbox.files import ChangedError, Inbox
from bpc_worker.inbox.handover import Handover
from bpc_worker.inbox.jobs import refusal
from bpc_worker.inbox.layout import shown
from bpc_worker.inbox.stillness import Found, Stillness
from bpc_worker.jobs.errors import Code, JobError, Permanent, Unavailable
from bpc_worker.observability import log

_log = log.get("producer")

_LAST_FILE_SECONDS = 0.8  # the engine waits a second for its duties


class Taken(Protocol):
    @property
    def taken(self) -> int: ...

    @property
    def wait_seconds(self) -> float: ...


class Producer:
    def __init__(
        self,
        inbox: Inbox,
        handover: Handover,
        hooks: WorkerHooks,
        *,
        pause: Callable[[], float],
        take_token: Callable[[], Awaitable[Taken]] | None = None,
    ) -> None:
        """`pause`: seconds until the next look; `take_token`: None where nobody limits the rate."""
        self._inbox = inbox
        self._handover = handover
        self._hooks = hooks
        self._pause = pause
        self._take_token = take_token
        self._stillness = Stillness()
        self._said: dict[str, str] = {}
        self._held: bool | None = None

    async def run(self) -> None:
        try:
            while True:
                if not self._hooks.stopping():
                    await self._try_look()
                await asyncio.sleep(self._pause())
        finally:
            self._inbox.close()

    async def _try_look(self) -> None:
        try:
            await self.look()
        except JobError as error:
            self._hooks.note_database(error)
            self._complain("", error.message, error.code)
        except OSError as error:
            self._complain("", f"the inbox: {error.strerror or error}")
        else:
            self._said.pop("", None)

    async def look(self) -> None:
        """Hand over everything that stands still."""
        if not await self._at_work():
            return
        seen = await asyncio.to_thread(self._inbox.look)
        places = {"", *(shown(each.place) for each in seen.found), *map(shown, seen.troubles)}
        self._said = {place: why for place, why in self._said.items() if place in places}
        for place, why in seen.troubles.items():
            self._complain(shown(place), why)
        for found in self._stillness.settled(seen.found):
            await self._wait_for_token()
            if self._hooks.stopping():
                return
            await _to_its_end(self._one(found))

    async def _at_work(self) -> bool:
        held = await asyncio.to_thread(self._inbox.hold)
        if held != self._held:
            self._held = held
            _log.info("inbox_held" if held else "inbox_held_by_another_producer")
        return held

    async def _wait_for_token(self) -> None:
        while self._take_token is not None and not self._hooks.stopping():
            got = await self._take_token()
            if got.taken:
                return
            self._hooks.rate_limited()
            await asyncio.sleep(got.wait_seconds)

    async def _one(self, found: Found) -> None:
        """Whatever is wrong with it keeps nobody else waiting."""
        try:
            tenant_id = await self._handover.tenant(found.place)  # first: without a database nothing is taken
            if not found.taken:
                await asyncio.to_thread(self._inbox.take, found)
            await self._handover.hand_over(found, tenant_id)
            await asyncio.to_thread(self._inbox.finish, found)
        except JobError as error:
            await self._could_not(found, error)
        except OSError as error:
            self._complain(shown(found.place), f"it cannot be moved or read: {error.strerror or error}")
        except ChangedError:
            _log.debug("inbox_file_changes", source=shown(found.place))

    async def _could_not(self, found: Found, error: JobError) -> None:
        if isinstance(error, Unavailable) or error.code == Code.QUEUE_FULL:
            raise error  # the others would fare no better: all wait
        if isinstance(error, Permanent):
            await self._reject(found, error)
        else:
            self._complain(shown(found.place), error.message, error.code)

    async def _reject(self, found: Found, error: Permanent) -> None:
        _log.warning(
            "inbox_rejected", source=shown(found.place), error_code=error.code, error_message=error.message
        )
        try:
            await asyncio.to_thread(self._inbox.reject, found, refusal(found.place, error))
        except OSError as failed:
            self._complain(shown(found.place), f"it cannot be moved: {failed.strerror or failed}")

    def _complain(self, place: str, why: str, code: str | None = None) -> None:
        """Once, until something else is wrong."""
        if self._said.get(place) != why:
            self._said[place] = why
            _log.warning("inbox_trouble", source=place, reason=why, error_code=code)


async def _to_its_end(work: Coroutine[object, object, None]) -> None:
    """A file that was begun is finished when the worker stops, if that is quick."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_LAST_FILE_SECONDS)
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task
        raise
