"""Every page behind a door, found as a person finds them: by following links."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from urllib.parse import urljoin, urlsplit

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.web.doors import parts_of
from bpc_worker.web.layer.answers import Page
from bpc_worker.web.layer.routes import Door, Found, RouteTable
from bpc_worker.web.parts import Parts
from tests.browser.visitor import Visitor
from tests.support.database import Database

_EACH = 2  # of the pages of one route

_LINKS = "[...document.querySelectorAll('a[href]')].map(link => link.href)"


def parts(db: Database) -> Parts:
    return parts_of(config.load(env={"BPC_DATABASE_URL": db.url}), registry.load(), db.url)


def routes_of(door: Door) -> set[str]:
    """The paths of its pages, as the table has them."""
    return {route.path for route in door.routes if route.method == "GET" and route.answers in {None, Page}}


def crawl(visitor: Visitor, door: Door, beginnings: Sequence[str]) -> dict[str, str]:
    """Addresses of pages, some of each route, with the path of their route."""
    table, waiting, met = RouteTable(door.routes), deque(beginnings), set(beginnings)
    pages: dict[str, str] = {}
    count: Counter[str] = Counter()
    while waiting:
        address = waiting.popleft()
        found = table.find("GET", urlsplit(address).path)
        assert isinstance(found, Found), f"a link to {address}, where nothing is"
        if count[found.route.path] >= _EACH:
            continue
        count[found.route.path] += 1
        answer = visitor.page.request.get(visitor.origin + address)
        assert answer.ok, f"{answer.status} {address}"
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        pages[address] = found.route.path
        visitor.goto(address)
        for link in _inside(visitor, visitor.page.evaluate(_LINKS)):
            if link not in met:
                met.add(link)
                waiting.append(link)
    return pages


def _inside(visitor: Visitor, links: Iterable[str]) -> Iterable[str]:
    for link in links:
        parts_ = urlsplit(urljoin(visitor.page.url, link))
        if f"{parts_.scheme}://{parts_.netloc}" == visitor.origin:
            yield parts_._replace(scheme="", netloc="", fragment="").geturl()
