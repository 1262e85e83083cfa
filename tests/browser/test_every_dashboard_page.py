"""Every page of the dashboard: for everybody, in every light, on a phone, by keyboard, without JavaScript."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from bpc_worker.web.dashboard.door import dashboard_door
from tests.browser.axe import barriers
from tests.browser.keyboard import walk
from tests.browser.signing_in import EVERYTHING, signed_in
from tests.browser.visitor import PHONE, Visitor
from tests.support.crawling import Crawled, crawl, parts, routes_of
from tests.support.serving import Answer, Serving, token
from tests.support.town import Town

_ELSEWHERE = {"/session", "/static/{hash}/{name}", "/live"}  # test_sessions.py; no pages
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_LATER = "2099-01-01T00:00:00Z"
_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def crawled(doors: Serving, helios: Town) -> Crawled:
    secret = token(helios.db, *EVERYTHING)

    def ask(address: str) -> Answer:
        return doors.ask("dashboard", address, token=secret, headers={"Accept": "text/html"})

    act = f"act=retry&code=CHILD_DIED&before={quote(_LATER)}&counted=1"
    asked = doors.ask("dashboard", "/bulk", method="POST", body=act, headers=_FORM, token=secret)
    assert asked.headers["location"].startswith("/bulk/")
    return crawl(ask, dashboard_door(parts(helios.db)), ["/"])


@pytest.fixture(scope="module")
def pages(crawled: Crawled) -> Mapping[str, str]:
    return crawled.pages


def faults(visitor: Visitor, pages: Mapping[str, str], look: Callable[[Page], object]) -> dict[str, object]:
    """What a look at each of them finds, where it finds anything."""
    found: dict[str, object] = {}
    for address in pages:
        status = visitor.goto(address)
        said = look(visitor.page)
        if status != 200 or said or visitor.complaints:
            found[address] = (status, said, [*visitor.complaints])
            visitor.complaints.clear()
    return found


def test_every_page_is_found_by_following_links_and_no_link_is_broken(helios: Town, crawled: Crawled) -> None:
    wanted = routes_of(dashboard_door(parts(helios.db))) - _ELSEWHERE

    assert crawled.broken == []
    assert wanted - crawled.routes == set()


def test_nobody_is_kept_out(browser: Browser, doors: Serving, helios: Town, pages: Mapping[str, str]) -> None:
    with signed_in(browser, doors, helios.db) as visitor:
        assert faults(visitor, pages, barriers) == {}


def test_nor_in_the_dark(browser: Browser, doors: Serving, helios: Town, pages: Mapping[str, str]) -> None:
    with signed_in(browser, doors, helios.db, dark=True) as visitor:
        assert faults(visitor, pages, barriers) == {}


def test_a_phone_shows_every_page_without_scrolling_sideways(
    browser: Browser, doors: Serving, helios: Town, pages: Mapping[str, str]
) -> None:
    def look(page: Page) -> list[object]:
        wide = page.evaluate(_TOO_WIDE)
        return [*barriers(page), *([f"{wide} px too wide"] if wide > 0 else [])]

    with signed_in(browser, doors, helios.db, size=PHONE) as visitor:
        assert faults(visitor, pages, look) == {}


def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    browser: Browser, doors: Serving, helios: Town, pages: Mapping[str, str]
) -> None:
    def look(page: Page) -> object:
        walked = walk(page)
        return walked if walked.missed or walked.unseen else None

    with signed_in(browser, doors, helios.db) as visitor:
        visitor.page.add_init_script("delete window.EventSource")  # what is counted stays where it is
        assert faults(visitor, pages, look) == {}


def test_every_page_says_the_same_without_javascript(
    browser: Browser, doors: Serving, helios: Town, pages: Mapping[str, str]
) -> None:
    def look(page: Page) -> object:
        return None if page.locator("h1").count() == 1 else page.content()[:500]

    with signed_in(browser, doors, helios.db, script=False) as visitor:
        assert faults(visitor, pages, look) == {}
