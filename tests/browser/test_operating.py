"""What an operator does by looking: jobs that move, dead letters that are mended, all that match at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.signing_in import NAME, signed_in
from tests.support.database import Database
from tests.support.serving import Serving
from tests.support.worker import worker

_DEAD = (
    "INSERT INTO jobs"
    " (tenant_id, type, payload, status, attempts, finished_at, fail_code, fail_reason, last_error)"
    " SELECT %s, 'TEST_NOOP', '{}', 'DEAD_LETTER', 5, now() - n * interval '1 second', %s, 'it was ' || n,"
    " jsonb_build_object('code', %s::text, 'message', 'it was ' || n, 'retryable', true)"
    " FROM generate_series(1, %s) AS n RETURNING job_id"
)


@pytest.fixture
def dashboard(db: Database) -> Iterator[Serving]:
    with opened(db, "dashboard") as running:
        yield running


def dead(db: Database, code: str, count: int = 1) -> list[str]:
    rows = db.run(_DEAD, [db.tenant(), code, code, count])
    return [str(row["job_id"]) for row in rows]


def count(db: Database, status: str, code: str | None = None) -> int:
    row = db.one(
        "SELECT count(*) AS n FROM jobs WHERE status = %s AND (%s::text IS NULL OR fail_code = %s)",
        [status, code, code],
    )
    return int(str(row["n"]))


@contextmanager
def holding(db: Database, code: str) -> Iterator[None]:
    """One of them is somebody else's meanwhile, so that whoever acts on all is not done."""
    with db.connect() as other, other.transaction():
        other.execute("SELECT FROM jobs WHERE fail_code = %s LIMIT 1 FOR UPDATE", [code])
        yield


def mark(page: Page) -> None:
    page.evaluate("window.notReloaded = true")


def is_the_same_page(page: Page) -> bool:
    return bool(page.evaluate("window.notReloaded === true"))


def test_the_progress_of_a_job_moves_without_a_reload(
    browser: Browser, db: Database, dashboard: Serving
) -> None:
    job_id = db.enqueue("TEST_STEPS", '{"seconds": 2, "steps": 4}')
    with signed_in(browser, dashboard, db) as visitor:
        page = visitor.page
        visitor.goto(f"/jobs/{job_id}")
        moves = page.locator("#moves")
        expect(moves).to_contain_text("QUEUED")
        expect(page.locator("#state")).not_to_be_empty()
        mark(page)
        with worker(db.url, BPC_JOBS_LEASE_SECONDS=6, BPC_JOBS_LEASE_RENEW_SECONDS=1):
            expect(moves).to_contain_text("stepping")
            first = page.locator("#moves progress").get_attribute("value")
            expect(page.locator("#moves progress")).not_to_have_attribute("value", str(first))
            expect(moves).to_contain_text("SUCCEEDED")
        assert is_the_same_page(page)


def test_a_dead_letter_is_retried_and_leaves_the_list(
    browser: Browser, db: Database, dashboard: Serving
) -> None:
    [job_id] = dead(db, "COMMAND_FAILED")
    with signed_in(browser, dashboard, db) as visitor, worker(db.url):
        page = visitor.page
        visitor.goto("/dead")
        page.locator(f"a[href$='/jobs/{job_id}']").last.click()
        page.get_by_role("button", name="Retry", exact=True).click()
        expect(page.locator("#moves")).to_contain_text("SUCCEEDED")
        visitor.goto("/dead")
        expect(page.get_by_text("Nothing is dead here.")).to_be_visible()
    [by] = {str(row["by"]) for row in db.run("SELECT data ->> 'by' AS by FROM job_events WHERE data ? 'by'")}
    assert f"/token:{NAME}" in by


def test_those_that_are_ticked_leave_the_list_and_the_list_waits_for_who_ticks(
    browser: Browser, db: Database, dashboard: Serving
) -> None:
    first, second, third = dead(db, "COMMAND_FAILED", 3)
    with signed_in(browser, dashboard, db) as visitor:
        page = visitor.page
        visitor.goto("/dead")
        for job_id in (first, third):
            page.locator(f"input[value='{job_id}']").check()
        db.run("UPDATE jobs SET fail_reason = 'changed meanwhile' WHERE job_id = %s", [second])
        dead(db, "CHILD_DIED")
        expect(page.locator("#state")).to_have_text(str(page.locator("#state").get_attribute("data-paused")))
        page.get_by_role("button", name="Retry the ticked").click()
        expect(page.locator(f"input[value='{first}']")).to_have_count(0)
        expect(page.locator(f"input[value='{second}']")).to_have_count(1)
    assert [db.job(each)["status"] for each in (first, second, third)] == ["QUEUED", "DEAD_LETTER", "QUEUED"]


def test_all_that_match_are_counted_first_and_go_on_while_nobody_looks(
    browser: Browser, db: Database, dashboard: Serving
) -> None:
    dead(db, "COMMAND_FAILED", 1200)
    dead(db, "CHILD_DIED", 7)
    with signed_in(browser, dashboard, db) as visitor:
        page = visitor.page
        visitor.goto("/dead?code=COMMAND_FAILED")
        page.get_by_role("link", name="Retry all that match").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("1,200")
        assert count(db, "DEAD_LETTER") == 1207
        visitor.excuse("status of 422")
        page.locator("#typed").fill("12")
        page.get_by_role("button", name="Retry them").click()
        expect(page.get_by_role("alert")).to_be_visible()
        assert count(db, "DEAD_LETTER") == 1207
        with holding(db, "COMMAND_FAILED"):
            page.locator("#typed").fill("1200")
            page.get_by_role("button", name="Retry them").click()
            expect(page.locator("#moves")).to_contain_text("RUNNING")
            address = page.url
            page.close()
            again = page.context.new_page()
            again.goto(address)
            expect(again.locator("#moves progress")).to_have_attribute("max", "1200")
            mark(again)
        expect(again.locator("#moves")).to_contain_text("DONE")
        expect(again.locator("#moves strong")).to_have_text("1,200 / 1,200")
        assert is_the_same_page(again)
    assert (count(db, "DEAD_LETTER"), count(db, "QUEUED")) == (7, 1200)


def test_what_goes_on_can_be_stopped(browser: Browser, db: Database, dashboard: Serving) -> None:
    dead(db, "COMMAND_FAILED", 1200)
    with signed_in(browser, dashboard, db) as visitor, holding(db, "COMMAND_FAILED"):
        page = visitor.page
        visitor.goto("/dead/confirm?act=retry")
        page.locator("#typed").fill("1200")
        page.get_by_role("button", name="Retry them").click()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#moves")).to_contain_text("STOPPED")
        expect(page.locator("#moves")).to_contain_text(NAME)
    assert count(db, "DEAD_LETTER") > 0
