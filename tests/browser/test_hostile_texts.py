"""Whatever texts are stored, pages show them as texts: none of them runs, and none becomes an element."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from bpc_worker.web.dashboard.door import dashboard_door
from tests.browser.conftest import opened
from tests.browser.signing_in import EVERYTHING, signed_in
from tests.browser.test_watching import served
from tests.support.crawling import crawl, parts
from tests.support.database import Database
from tests.support.serving import Answer, Serving, token

EVIL = '"\'><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{{7*7}}</textarea></title>'
_JOBS = """
INSERT INTO jobs (tenant_id, type, queue, payload, status, attempts, finished_at, fail_code, fail_reason,
                  last_error, correlation_id, idempotency_key, result)
SELECT %(tenant)s, 'TEST_NOOP', left(%(evil)s, 100), pair.of, 'DEAD_LETTER', 5, now(), %(evil)s,
       %(evil)s, jsonb_build_object('code', %(evil)s::text, 'message', %(evil)s::text, 'detail', pair.of),
       %(evil)s, %(evil)s, pair.of
FROM (SELECT jsonb_build_object(%(evil)s::text, %(evil)s::text) AS of) AS pair
RETURNING job_id
"""
_OTHERS = """
INSERT INTO job_events (job_id, type, data)
VALUES (%(job)s, %(evil)s, jsonb_build_object('by', %(evil)s::text));
INSERT INTO job_pauses (kind, name, reason, paused_by) VALUES ('queue', %(evil)s, %(evil)s, %(evil)s);
INSERT INTO workers
  (worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at, expires_at)
VALUES (%(evil)s, %(evil)s, 1, %(evil)s, ARRAY[%(evil)s], ARRAY[%(evil)s], 1, now(), now(), now() + '1 h');
INSERT INTO battery_products (tenant_id, identifier, name) VALUES (%(tenant)s, %(evil)s, %(evil)s);
INSERT INTO documents (tenant_id, kind, external_ref) VALUES (%(tenant)s, 'BOM', %(evil)s)
"""


@pytest.fixture
def evil(db: Database) -> Database:
    """The superuser writes what no input would be let in with."""
    params = {"tenant": db.tenant(EVIL), "evil": EVIL}
    job = db.run(_JOBS, params)[0]["job_id"]
    for statement in _OTHERS.split(";"):
        db.run(statement, params | {"job": job})
    return db


@pytest.fixture
def dashboard(evil: Database) -> Iterator[Serving]:
    with opened(evil, "dashboard") as running:
        yield running


def test_nothing_that_is_stored_runs(browser: Browser, evil: Database, dashboard: Serving) -> None:
    secret = token(evil, *EVERYTHING)

    def ask(address: str) -> Answer:
        return dashboard.ask("dashboard", address, token=secret, headers={"Accept": "text/html"})

    found = crawl(
        ask, dashboard_door(parts(evil)), ["/", f"/search?q={'%3Cscript%3E'}", "/dead?code=%3Cscript%3E"]
    )
    assert len(found.pages) > 8
    seen = 0
    with signed_in(browser, dashboard, evil) as visitor:
        for address in found.pages:
            visitor.goto(address)
            page = visitor.page
            assert page.evaluate("window.hacked") is None, address
            assert page.locator("img[onerror], main script").count() == 0, address
            seen += "window.hacked" in page.locator("body").inner_text()
    assert seen > 3


def test_a_page_of_another_address_can_neither_act_nor_frame(
    browser: Browser, evil: Database, dashboard: Serving
) -> None:
    job_id = evil.one("SELECT job_id FROM jobs")["job_id"]
    with signed_in(browser, dashboard, evil) as visitor:
        target = f"{visitor.origin}/jobs/{job_id}/retry"
        visitor.excuse("403", "frame", "left the origin", "Refused", "ERR_BLOCKED")
        form = f'<form method=post action="{target}"></form><iframe src="{visitor.origin}/"></iframe>'
        with served(f"<!doctype html><title>else</title>{form}") as elsewhere:
            page = visitor.page.context.new_page()
            page.goto(elsewhere)
            page.evaluate("document.forms[0].submit()")
            page.wait_for_url(target)
    assert evil.job(str(job_id))["status"] == "DEAD_LETTER"
