"""A person at the dashboard's door, with a token."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, expect

from tests.browser.visitor import DESK, Visitor, visiting
from tests.support.database import Database
from tests.support.serving import Serving, token

EVERYTHING: Final = ("read", "values", "write", "activate", "webhooks", "operate", "scale")
NAME: Final = "mira"


def origin_of(doors: Serving, door: str, host: str = "127.0.0.1") -> str:
    return f"http://{host}:{doors.door_port(door)}"


@contextmanager
def signed_in(
    browser: Browser,
    doors: Serving,
    db: Database,
    *,
    dark: bool = False,
    size: tuple[int, int] = DESK,
    script: bool = True,
    scopes: tuple[str, ...] = EVERYTHING,
    tenant: str | None = None,
) -> Iterator[Visitor]:
    origin = origin_of(doors, "dashboard")
    with visiting(browser, origin, dark=dark, size=size, script=script) as visitor:
        sign_in(visitor, token(db, *scopes, tenant=tenant, name=f"{NAME}-{secrets.token_hex(4)}"))
        yield visitor


def sign_in(visitor: Visitor, secret: str) -> None:
    visitor.goto("/session")
    visitor.page.locator("#token").fill(secret)
    visitor.page.locator("main form button").click()
    expect(visitor.page).to_have_url(f"{visitor.origin}/")
