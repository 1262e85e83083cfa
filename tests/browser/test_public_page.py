"""What opens when a phone scans the code on a battery."""

import io
from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Browser, expect

from bpc_worker.carrier.code import Printing, code_of, png
from tests.browser.axe import barriers
from tests.browser.keyboard import walk
from tests.browser.signing_in import origin_of
from tests.browser.visitor import DESK, PHONE, Visitor, visiting
from tests.support.serving import Serving
from tests.support.town import Maker, Town
from tests.support.waiting import until

_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_BADGE = ".badge"
_ANOTHER_BYTE = """
UPDATE public_passports
SET view = overlay(view PLACING translate(substr(view, at, 1), 'ABCDEFGHIJ', 'JIHGFEDCBA') FROM at FOR 1)
FROM (SELECT length(view) - length(substring(view FROM '[A-J][^A-J]*$')) + 1 AS at FROM public_passports
      WHERE unique_identifier = %s) AS place
WHERE unique_identifier = %s
"""


def origin(doors: Serving, maker: Maker) -> str:
    return origin_of(doors, "public", maker.host)


def addresses(maker: Maker) -> Sequence[str]:
    """The passport, one of its versions, the beginning, and a battery that nobody knows."""
    path = urlsplit(maker.identifier).path
    return (path, f"{path}?version={maker.version}", f"{path}?lang=de", "/")


def test_a_code_is_scanned_and_its_page_is_verified(browser: Browser, doors: Serving, helios: Town) -> None:
    printed = Image.open(io.BytesIO(png(code_of(helios.ev.identifier, Printing()))))
    [code] = zxingcpp.read_barcodes(printed)

    with visiting(browser, origin(doors, helios.ev), size=PHONE) as visitor:
        assert visitor.goto(urlsplit(code.text).path) == 200
        assert visitor.page.url == visitor.origin + urlsplit(helios.ev.identifier).path  # no redirect
        expect(visitor.page.locator("h1")).to_contain_text("Helios EV 78")
        expect(visitor.page.locator(_BADGE)).to_have_class("badge good")
        expect(visitor.page.locator(_BADGE)).to_contain_text("UTC")
        assert visitor.page.context.cookies() == []
        assert visitor.page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("light", ["light", "dark"])
def test_nobody_is_kept_out(
    browser: Browser, doors: Serving, helios: Town, light: str, size: tuple[int, int]
) -> None:
    with visiting(browser, origin(doors, helios.ev), dark=light == "dark", size=size) as visitor:
        found = {address: look(visitor, address) for address in addresses(helios.ev)}

    assert {address: said for address, said in found.items() if said} == {}


def look(visitor: Visitor, address: str) -> list[str]:
    status, page = visitor.goto(address), visitor.page
    said = [] if status == 200 else [str(status)]
    wide = page.evaluate(_TOO_WIDE)
    said += [f"{wide} px too wide"] if wide > 0 else []
    walked = walk(page)
    return [*said, *barriers(page), *walked.missed, *walked.unseen]


def test_the_language_is_the_readers_and_can_be_changed(
    browser: Browser, doors: Serving, helios: Town
) -> None:
    with visiting(browser, origin(doors, helios.ev), language="de-AT", script=False) as visitor:
        visitor.goto(addresses(helios.ev)[0])
        expect(visitor.page.locator("html")).to_have_attribute("lang", "de")
        visitor.page.get_by_role("link", name="EN", exact=True).press("Enter")
        expect(visitor.page.locator("html")).to_have_attribute("lang", "en")
        expect(visitor.page.locator(_BADGE)).to_have_class("badge good")


def test_a_byte_that_was_changed_turns_the_mark_red_within_a_minute(
    browser: Browser, doors: Serving, helios: Town
) -> None:
    """By somebody who may do anything in the database, and makes no noise. Of the other battery."""
    maker = helios.makers["lmt"]
    with visiting(browser, origin(doors, maker)) as visitor:
        path = urlsplit(maker.identifier).path
        visitor.goto(path)
        expect(visitor.page.locator(_BADGE)).to_have_class("badge good")
        with helios.db.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            changed = connection.execute(_ANOTHER_BYTE, [maker.identifier, maker.identifier])
            assert changed.rowcount == 1

        def is_red() -> bool:
            visitor.goto(path)
            return "bad" in str(visitor.page.locator(_BADGE).get_attribute("class"))

        until(is_red, within=60, what="a red mark", every=2)
