"""A token is shown once; then a cookie speaks for its bearer, until it is taken away."""

from playwright.sync_api import Browser, expect

from tests.browser.axe import barriers
from tests.browser.keyboard import walk
from tests.browser.signing_in import EVERYTHING, origin_of, sign_in, signed_in
from tests.browser.visitor import PHONE, visiting
from tests.support.serving import Serving, token
from tests.support.town import Town


def test_a_stranger_is_led_to_the_page_for_tokens(browser: Browser, doors: Serving) -> None:
    with visiting(browser, origin_of(doors, "dashboard")) as visitor:
        assert visitor.goto("/") == 200
        expect(visitor.page).to_have_url(f"{visitor.origin}/session")
        assert barriers(visitor.page) == []
        walked = walk(visitor.page)
        assert (walked.missed, walked.unseen) == ([], [])


def test_who_signs_in_by_keyboard_is_in_and_signs_out_again(
    browser: Browser, doors: Serving, helios: Town
) -> None:
    with visiting(browser, origin_of(doors, "dashboard"), dark=True, size=PHONE) as visitor:
        visitor.goto("/session")
        expect(visitor.page.locator("#token")).to_be_focused()
        visitor.page.keyboard.type(token(helios.db, *EVERYTHING))
        visitor.page.keyboard.press("Enter")
        expect(visitor.page).to_have_url(f"{visitor.origin}/")
        cookies = visitor.page.context.cookies()
        assert [(each["httpOnly"], each["sameSite"], each["path"]) for each in cookies] == [
            (True, "Strict", "/")
        ]
        assert visitor.page.evaluate("document.cookie") == ""

        visitor.page.locator("form[action$='/session/end'] button").press("Enter")
        expect(visitor.page).to_have_url(f"{visitor.origin}/session")
        assert visitor.page.context.cookies() == []
        visitor.goto("/")
        expect(visitor.page).to_have_url(f"{visitor.origin}/session")


def test_a_wrong_token_is_refused_and_leaves_no_cookie(browser: Browser, doors: Serving) -> None:
    with visiting(browser, origin_of(doors, "dashboard")) as visitor:
        visitor.excuse("status of 403")
        visitor.goto("/session")
        visitor.page.locator("#token").fill("not-a-token")
        visitor.page.locator("main form button").click()
        expect(visitor.page.get_by_role("alert")).to_be_visible()
        assert visitor.page.context.cookies() == []


def test_a_token_that_was_revoked_ends_the_sessions_that_began_with_it(
    browser: Browser, doors: Serving, helios: Town
) -> None:
    with visiting(browser, origin_of(doors, "dashboard")) as visitor:
        sign_in(visitor, token(helios.db, *EVERYTHING, name="for-a-day"))
        helios.db.run("UPDATE api_tokens SET revoked_at = now() WHERE name = 'for-a-day'")
        visitor.page.wait_for_timeout(6_000)  # a look-up is believed for five seconds
        visitor.goto("/")
        expect(visitor.page).to_have_url(f"{visitor.origin}/session")


def test_everything_works_without_javascript(browser: Browser, doors: Serving, helios: Town) -> None:
    with signed_in(browser, doors, helios.db, script=False) as visitor:
        visitor.page.locator("form[action$='/session/end'] button").click()
        expect(visitor.page).to_have_url(f"{visitor.origin}/session")
