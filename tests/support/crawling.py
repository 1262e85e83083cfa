"""Every page behind a door, found as a person finds them: by following links."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.web.doors import parts_of
from bpc_worker.web.layer.routes import Door, Found, RouteTable
from bpc_worker.web.parts import Parts
from tests.support.database import Database
from tests.support.serving import Answer

EACH = 2  # of the pages of one route

Ask = Callable[[str], Answer]


def parts(db: Database) -> Parts:
    """What a door is made with; nothing is connected."""
    return parts_of(config.load(env={"BPC_DATABASE_URL": db.url}), registry.load(), db.url)


def routes_of(door: Door) -> set[str]:
    """The paths that can be looked at."""
    return {route.path for route in door.routes if route.method == "GET"}


@dataclass
class Crawled:
    pages: dict[str, str] = field(default_factory=dict)  # addresses, with the path of their route
    broken: list[str] = field(default_factory=list)
    routes: set[str] = field(default_factory=set)  # of pages, pictures and files


def crawl(ask: Ask, door: Door, beginnings: Sequence[str], *, each: int = EACH) -> Crawled:
    """Some pages of each route."""
    table, waiting, met = RouteTable(door.routes), deque(beginnings), set(beginnings)
    made = Crawled()
    count: Counter[str] = Counter()
    while waiting:
        address = waiting.popleft()
        found = table.find("GET", urlsplit(address).path)
        if not isinstance(found, Found):
            made.broken.append(f"no route for {address}")
            continue
        if count[found.route.path] >= each:
            continue
        count[found.route.path] += 1
        answer = ask(address)
        if answer.status == 303:
            waiting.append(answer.headers["location"])
            continue
        if answer.status != 200:
            made.broken.append(f"{answer.status} {address}")
            continue
        made.routes.add(found.route.path)
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        made.pages[address] = found.route.path
        for link in links(address, answer.text):
            if link not in met:
                met.add(link)
                waiting.append(link)
    return made


def links(address: str, page: str) -> Iterator[str]:
    """Those that stay at the door, without fragments."""
    reader = _Reader()
    reader.feed(page)
    for href in reader.found:
        whole = urlsplit(urljoin(address, href))
        if not whole.scheme and not whole.netloc:
            yield whole._replace(fragment="").geturl()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {"a": "href", "img": "src"}.get(tag)
        self.found += [value for name, value in attrs if name == named and value]
