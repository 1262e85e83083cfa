"""Somebody with a browser: whatever a page should not do while it is looked at fails the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

PATIENCE_MS = 30_000
PHONE, DESK = (360, 740), (1280, 900)

_LOUD = {"error", "warning"}
_INSIDE = ("data:", "blob:", "about:")

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Visitor:
    """`page` is the one that opened first; `origin` where its server is."""

    page: Page
    origin: str
    excused: tuple[str, ...] = ()  # parts of what the console may say
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def goto(self, path: str) -> int:
        """The status of the answer."""
        answer = self.page.goto(self.origin + path)
        assert answer is not None
        return int(answer.status)

    def excuse(self, *parts: str) -> None:
        self.excused = (*self.excused, *parts)

    def watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._complain(f"error: {error}"))
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in _LOUD:
            self._complain(f"console: {message.text} ({message.location.get('url')})")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        if request.url.startswith(_INSIDE):
            return
        asked, own = urlsplit(request.url), urlsplit(self.origin)
        if (asked.scheme, asked.netloc) != (own.scheme, own.netloc):
            self._complain(f"left the origin: {request.url}")

    def _complain(self, text: str) -> None:
        if not any(part in text for part in self.excused):
            self.complaints.append(text)


@contextmanager
def visiting(
    browser: Browser,
    origin: str,
    *,
    dark: bool = False,
    size: tuple[int, int] = DESK,
    script: bool = True,
    language: str = "en-GB",
) -> Iterator[Visitor]:
    """In a browser that knows nothing yet. At the end nothing may have been complained about."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
        locale=language,
        timezone_id="UTC",
        reduced_motion="reduce",
        service_workers="block",
    )
    context.set_default_timeout(PATIENCE_MS)
    try:
        page = context.new_page()
        visitor = Visitor(page, origin)
        visitor.watch(page)
        context.on("page", visitor.watch)
        yield visitor
        if visitor.complaints:
            raise AssertionError("; ".join(visitor.complaints))
    finally:
        context.close()
