"""From a number to the cell that it comes from, and from a stopped build to the cell that stopped it."""

from playwright.sync_api import Browser, expect

from tests.browser.signing_in import signed_in
from tests.support.serving import Serving
from tests.support.town import Town

SERIAL = "HLS-EV78-2027-000417"
_MINUTE_MS = 60_000
_ANOTHER_BYTE = """
UPDATE passport_versions
SET proof = set_byte(proof, length(proof) / 2, get_byte(proof, length(proof) / 2) # 1)
WHERE passport_version_id = %s RETURNING proof
"""


def test_a_number_is_followed_to_its_cell(browser: Browser, doors: Serving, helios: Town) -> None:
    with signed_in(browser, doors, helios.db) as visitor:
        page = visitor.page
        visitor.goto("/")
        page.locator("#q").fill(SERIAL)
        page.locator("#q").press("Enter")
        expect(page.locator("h1")).to_contain_text(SERIAL)
        page.get_by_role("link", name="performance.energy", exact=True).press("Enter")
        expect(page.locator(".tree")).to_contain_text("from datasheet.csv 2:2")
        expect(page.locator("mark").filter(has_text="213")).to_be_visible()
        expect(page.locator("tr", has=page.locator("mark", has_text="213"))).to_contain_text("rated capacity")


def test_a_stopped_build_shows_the_cell(browser: Browser, doors: Serving, helios: Town) -> None:
    with signed_in(browser, doors, helios.db) as visitor:
        page = visitor.page
        visitor.goto("/pipeline")
        page.locator(f"a[href$='/builds/{helios.stopped}']").first.click()
        expect(page.locator("main")).to_contain_text("line 2, column 6")
        expect(page.locator("mark")).to_contain_text("49,2,50")


def test_a_byte_that_was_changed_turns_the_open_page_red_within_a_minute(
    browser: Browser, doors: Serving, helios: Town
) -> None:
    maker = helios.makers["lmt"]
    with signed_in(browser, doors, helios.db) as visitor, helios.db.connect() as connection:
        visitor.goto(f"/passports/{maker.version}")
        expect(visitor.page.locator("#moves strong.good")).to_be_visible()
        visitor.page.evaluate("window.notReloaded = true")
        connection.execute("SET session_replication_role = replica")
        connection.execute(_ANOTHER_BYTE, [maker.version])
        expect(visitor.page.locator("#moves strong.bad")).to_be_visible(timeout=_MINUTE_MS)
        assert visitor.page.evaluate("window.notReloaded")
        connection.execute(_ANOTHER_BYTE, [maker.version])  # back again
