"""Pages that move by themselves: one look a second for all, each page drawn once for all who watch it.

A page that looks the same as before is not sent again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

import msgspec

from bpc_worker.jobs.errors import Code, JobError, Permanent
from bpc_worker.web.layer.answers import Answer, Page, Stream
from bpc_worker.web.layer.bodies import fields_of, query_of
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Found, Route, RouteTable
from bpc_worker.web.layer.templates import render
from bpc_worker.web.locks.identity import NOBODY
from bpc_worker.web.parts import Parts

LOOK_EVERY: Final = 1.0
REDRAW_EVERY: Final = 10.0  # ages grow though nothing happens
_ALIVE_SECONDS = 15.0

Key = tuple[str, object, object, object, object]


class Watch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    at: str  # the page's path and query


@dataclass(slots=True)
class Watched:
    """One page, as those with the same rights see it."""

    request: Request
    route: Route
    shown: bytes = b""
    watchers: set[asyncio.Queue[bytes]] = field(default_factory=set)


class Live:
    def __init__(self, parts: Parts, routes: list[Route]) -> None:
        self._database = parts.database
        self._table = RouteTable(routes)
        self._pages: dict[Key, Watched] = {}
        self._somebody = asyncio.Event()

    async def watch(self, request: Request) -> Answer:
        """What changes on a page from now on."""
        page = self._page(request, request.asked(Watch).at)
        await page.route.handle(page.request)  # what is not there, or not for him, is said at once
        return Stream(self._events(page))

    def _page(self, request: Request, at: str) -> Watched:
        path, _, query = at.partition("?")
        found = self._table.find("GET", path)
        if not isinstance(found, Found):
            raise Permanent(Code.NOT_FOUND, "no such page moves by itself")
        who = request.identity
        if found.route.lock.scope is not None and not who.may(found.route.lock.scope):
            raise Permanent(Code.FORBIDDEN, f"this needs the scope {found.route.lock.scope}")
        key = (at, who.tenant_id, who.scopes, request.languages, request.origin.prefix)
        asked = replace(
            request,
            path_args=found.path_args,
            query=query_of(found.route, fields_of(query)),
            body=None,
            csrf="",  # others with the same rights get the same bytes
            cookies=(),
        )
        return self._pages.setdefault(key, Watched(asked, found.route))

    async def _events(self, page: Watched) -> AsyncIterator[bytes | None]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)
        page.watchers.add(queue)
        self._somebody.set()
        try:
            yield b"retry: 2000\n\n"
            while True:
                event: bytes | None = None  # a sign of life
                with suppress(TimeoutError):
                    async with asyncio.timeout(_ALIVE_SECONDS):
                        event = await queue.get()
                yield event
        finally:
            page.watchers.discard(queue)
            if not page.watchers:
                self._pages = {key: each for key, each in self._pages.items() if each is not page}

    async def keep(self) -> None:
        """For as long as the door is open; at rest while nobody watches."""
        clock = asyncio.get_running_loop().time
        known, drawn_at = b"", 0.0
        while True:
            await self._somebody.wait()
            began = clock()
            try:
                pulse = await self._pulse()
                is_new = any(not each.shown for each in self._pages.values())
                if pulse != known or is_new or began - drawn_at > REDRAW_EVERY:
                    known, drawn_at = pulse, began
                    await self._draw()
            except (JobError, TimeoutError):
                known = b""  # the database is away: the pages stay as they are
            if not self._pages:
                self._somebody.clear()
            await asyncio.sleep(max(LOOK_EVERY / 4, LOOK_EVERY - (clock() - began)))

    async def _pulse(self) -> bytes:
        async with self._database.reader(NOBODY) as reading:
            rows = await reading.query("dashboard/pulse", {})
        return sha256(repr(rows).encode()).digest()

    async def _draw(self) -> None:
        for page in list(self._pages.values()):
            event = as_event(await fragment(page.route.handle, page.request))
            if event == page.shown:
                continue
            page.shown = event
            for queue in page.watchers:
                if queue.full():
                    queue.get_nowait()  # whoever is slow gets what is newest
                queue.put_nowait(event)


async def fragment(handle: Callable[[Request], Awaitable[Answer]], request: Request) -> bytes:
    """What moves of a page: the template beside the page's own that it is made of. Of none: it is gone."""
    try:
        answer = await handle(request)
    except Permanent:
        return b""
    if not isinstance(answer, Page):
        return b""
    folder, _, name = answer.template.rpartition("/")
    return render(replace(answer, template=f"{folder}/live/{name}"), request)


def as_event(html: bytes) -> bytes:
    lines = html.decode().splitlines()
    return "".join(f"data: {line}\n" for line in lines).encode() + b"\n"


def watched(routes: list[Route], paths: Mapping[str, object]) -> list[Route]:
    """Those that move."""
    return [each for each in routes if each.path in paths and each.method == "GET"]
