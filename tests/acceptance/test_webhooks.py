"""Events reach their subscribers over real https, signed so that common tools verify them."""

import json
from pathlib import Path

from aiohttp import web

from bpc_worker.pipeline.webhooks import list_endpoints
from tests.support.database import Database
from tests.support.dead_endpoint import outlive
from tests.support.pipeline import Pipeline
from tests.support.webhook_receiver import Received, endpoint, happen, ok, receiver, says
from tests.support.webhook_trial import try_out
from tests.support.worker import until, worker


def test_deliveries_verify_with_common_tools_through_retries_and_a_new_secret(
    db: Database, tmp_path: Path
) -> None:
    figures = try_out(db, tmp_path, 100)

    assert figures["requests"] == 100 + figures["refused once"]
    assert figures["refused once"] > 5
    assert figures["largest body"] > 100_000


def deliveries(db: Database) -> list[dict[str, object]]:
    """With the job of each, and for how long it was put off after its first failure."""
    return db.run(
        "SELECT d.status, d.http_status, d.response_headers, d.response_body, d.error_message,"
        " convert_from(d.body, 'UTF8')::jsonb -> 'payload' AS payload,"
        " j.status AS job, j.fail_code, j.attempts,"
        " (SELECT (e.data ->> 'delay_s')::float FROM job_events e WHERE e.job_id = j.job_id"
        "  AND e.type = 'job:retried' ORDER BY e.job_event_id LIMIT 1) AS delay"
        " FROM webhook_deliveries d JOIN jobs j ON j.idempotency_key = d.webhook_delivery_id::text"
        " ORDER BY webhook_delivery_id"
    )


def delivery(db: Database) -> dict[str, object]:
    return deliveries(db)[0]


def test_a_receiver_that_asks_for_patience_gets_it(db: Database, tmp_path: Path) -> None:
    wishes = {"90": (90, 99), "7": (7, 7.7), "1": (2, 2.2), "999999999999": (3600, 3960), "soon": (2, 2.2)}
    db.tenant()
    path = Pipeline(db)

    def answers(one: Received) -> web.StreamResponse:
        wish = json.loads(one.body)["payload"]["wish"]
        return web.Response(status=429, headers={"Retry-After": wish})

    with receiver(tmp_path, answers) as there:
        endpoint(path, there.url, there.settings)
        happen(path, *({"wish": wish} for wish in wishes))
        with worker(db.url_as("bpc_worker"), **there.settings):
            until(lambda: all(each["delay"] for each in deliveries(db)), within=20, what="the retries")

    for each in deliveries(db):
        wish = each["payload"]["wish"]  # type: ignore[index]
        least, most = wishes[wish]
        assert (each["status"], each["http_status"]) == ("PENDING", 429)
        assert least <= float(str(each["delay"])) <= most
        assert each["response_headers"]["retry-after"] == wish  # type: ignore[index]


def test_gone_switches_the_endpoint_off_with_an_event(db: Database, tmp_path: Path) -> None:
    db.tenant()
    path = Pipeline(db)
    with receiver(tmp_path, says(410)) as there, worker(db.url_as("bpc_worker"), **there.settings):
        made = endpoint(path, there.url, there.settings)
        happen(path, {})
        until(lambda: delivery(db)["job"] == "FAILED", within=20, what="the end")
        happen(path, {})

    found = delivery(db)
    assert (found["status"], found["fail_code"], found["http_status"]) == ("FAILED", "WEBHOOK_GONE", 410)
    assert len(there.received) == 1  # of the second event nobody was told
    listed = path.call(list_endpoints)
    assert [(each.status, each.disabled_reason) for each in listed] == [("DISABLED", "it answered 410 Gone")]
    event = db.one("SELECT * FROM events WHERE event_type = 'WEBHOOK_ENDPOINT_DISABLED'")
    assert event["aggregate_id"] == made.webhook_endpoint_id
    db.check_history()


def test_a_secret_of_another_tenant_signs_nothing_and_nothing_is_sent(db: Database, tmp_path: Path) -> None:
    db.tenant()
    db.tenant("other")
    ours, theirs = Pipeline(db), Pipeline(db, "other")
    with receiver(tmp_path) as there, worker(db.url_as("bpc_worker"), **there.settings):
        stolen = endpoint(theirs, there.url, there.settings).webhook_endpoint_id
        mine = endpoint(ours, there.url, there.settings).webhook_endpoint_id
        db.run(
            "UPDATE webhook_endpoints SET secret = t.secret FROM webhook_endpoints t"
            " WHERE webhook_endpoints.webhook_endpoint_id = %s AND t.webhook_endpoint_id = %s",
            [mine, stolen],
        )
        happen(ours, {})
        until(lambda: delivery(db)["job"] == "FAILED", within=20, what="the end")

    found = delivery(db)
    assert (found["status"], found["fail_code"], found["attempts"]) == ("FAILED", "FORBIDDEN", 1)
    assert there.received == []


def test_an_endpoint_that_only_fails_for_days_is_switched_off(db: Database, tmp_path: Path) -> None:
    db.tenant()
    path = Pipeline(db)
    with receiver(tmp_path, says(500)) as there, worker(db.url_as("bpc_worker"), **there.settings):
        made = endpoint(path, there.url, there.settings)
        db.run("UPDATE webhook_endpoints SET failing_since = now() - interval '4 days 23 hours'")
        happen(path, {})
        until(lambda: delivery(db)["http_status"] == 500, within=20, what="the first failure")
        assert path.call(list_endpoints)[0].status == "ACTIVE"
        db.run("UPDATE webhook_endpoints SET failing_since = now() - interval '5 days 1 second'")
        until(lambda: delivery(db)["job"] == "FAILED", within=20, what="the end")

    [listed] = path.call(list_endpoints)
    assert listed.status == "DISABLED"
    assert "nothing but failures since" in str(listed.disabled_reason)
    assert db.one("SELECT aggregate_id FROM events WHERE event_type = 'WEBHOOK_ENDPOINT_DISABLED'") == {
        "aggregate_id": made.webhook_endpoint_id
    }


def test_a_success_ends_the_time_of_failures(db: Database, tmp_path: Path) -> None:
    db.tenant()
    path = Pipeline(db)
    with receiver(tmp_path, says(500)) as there, worker(db.url_as("bpc_worker"), **there.settings):
        endpoint(path, there.url, there.settings)
        happen(path, {})
        until(lambda: path.call(list_endpoints)[0].failing_since, within=20, what="the failure")
        there.answers = ok
        until(lambda: delivery(db)["status"] == "DELIVERED", within=20, what="the delivery")

    assert path.call(list_endpoints)[0].failing_since is None


def test_a_delivery_shares_the_fate_of_its_job(db: Database, tmp_path: Path) -> None:
    db.tenant()
    path = Pipeline(db)
    with receiver(tmp_path, says(500)) as there:
        endpoint(path, there.url, there.settings, max_attempts=1)
        happen(path, {})
        with worker(db.url_as("bpc_worker"), **there.settings):
            until(lambda: delivery(db)["job"] == "DEAD_LETTER", within=20, what="the end")
            dead = delivery(db)
            there.answers = ok
            db.run("UPDATE jobs SET status = 'QUEUED' WHERE type = 'DELIVER_WEBHOOK'")
            assert delivery(db)["status"] in {"PENDING", "DELIVERED"}
            until(lambda: delivery(db)["status"] == "DELIVERED", within=20, what="the delivery")

    assert (dead["status"], dead["http_status"]) == ("FAILED", 500)
    assert dead["error_message"] == "WEBHOOK_FAILED: 127.0.0.1 answered 500"
    found = delivery(db)
    assert (found["http_status"], found["response_body"], found["error_message"]) == (200, b"thank you", None)
    assert len(there.received) == 2
    db.check_history()


def test_a_dead_endpoint_harms_nothing_else_and_is_told_everything_when_it_returns(
    db: Database, tmp_path: Path
) -> None:
    figures = outlive(db, tmp_path, 100)

    assert figures["slowest of the others, s"] < 10
