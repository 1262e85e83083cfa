"""Calls of the API that come too early or twice, or whose process is killed under them."""

import json
import signal
from http.client import HTTPException
from threading import Thread
from typing import Any

from tests.support.database import Database
from tests.support.manufacturer import Manufacturer, content, data, entries, manifest, multipart, town
from tests.support.serving import serving
from tests.support.worker import until, worker

BUILDS = 60


def test_a_full_queue_is_too_many_requests_and_the_same_call_can_come_again(db: Database) -> None:
    town(db)
    first, *_ = entries()
    db.run("INSERT INTO jobs (tenant_id, type) SELECT tenant_id, 'SOMETHING' FROM tenants")
    with serving(db.url, "api", BPC_JOBS_MAX_QUEUED=2) as running:
        made = Manufacturer.of(db, running)
        db.run("UPDATE queue_totals SET queued = 2, sampled_at = now()")
        refused = made.sent(content(first), first, key="a", wait=None)
        assert (refused.status, data(refused)["code"]) == (429, "QUEUE_FULL"), refused.text
        assert int(refused.headers["retry-after"]) > 0
        assert data(refused)["next"]
        db.run("UPDATE queue_totals SET queued = 0, sampled_at = now()")
        assert made.sent(content(first), first, key="a", wait=None).status == 202


def test_the_same_build_with_files_is_the_same_build_and_another_is_a_conflict(db: Database) -> None:
    town(db)
    with serving(db.url, "api") as running:
        made = Manufacturer.of(db, running)
        files = [(entry["file"], entry["file"], entry["mime_type"], content(entry)) for entry in entries()]
        told = json.dumps(_whole("SN-1")).encode()
        answers = []
        for _ in range(2):
            media_type, body = multipart([("manifest", "passport.yaml", "application/json", told), *files])
            answers.append(made.post("/v1/builds", body, media_type=media_type, key="one"))
        assert [each.status for each in answers] == [202, 202], answers[0].text
        assert answers[0].body == answers[1].body
        other = json.dumps(_whole("SN-2")).encode()
        media_type, body = multipart([("manifest", "passport.yaml", "application/json", other), *files])
        conflict = made.post("/v1/builds", body, media_type=media_type, key="one")
        assert (conflict.status, data(conflict)["code"]) == (409, "IDEMPOTENCY_CONFLICT")
        media_type, body = multipart([("manifest", None, "application/json", told)])
        lacking = made.post("/v1/builds", body, media_type=media_type)
        assert lacking.status == 400
        assert "battery.json" in data(lacking)["detail"]
    counted = db.one(
        "SELECT (SELECT count(*) FROM passport_builds) AS builds,"
        " (SELECT count(*) FROM jobs WHERE type = 'INGEST_DOCUMENT') AS jobs"
    )
    assert counted == {"builds": 1, "jobs": len(entries())}


def _whole(serial: str) -> dict[str, object]:
    return manifest(serial, []) | {"documents": entries()}


def test_what_was_sent_when_the_process_was_killed_is_there_once(db: Database) -> None:
    town(db)
    first, *others = entries()
    with serving(db.url, "api") as running:
        made = Manufacturer.of(db, running)
        document = data(made.sent(content(first), first, wait=None))["document"]["document_version_id"]
        lines = [manifest(f"SN-{number}", [document]) for number in range(BUILDS)]
        calls = [Thread(target=_sent, args=(made, each)) for each in others]
        calls.append(Thread(target=_bulk, args=(made, lines)))
        for each in calls:
            each.start()
        until(
            lambda: db.run("SELECT FROM passport_builds HAVING count(*) >= 3"), within=60, what="some builds"
        )
        running.send(signal.SIGKILL)
        for each in calls:
            each.join(60)
        running.wait(10)
    assert 0 < builds(db) < BUILDS

    with serving(db.url, "api") as running:
        again = made.at(running)
        assert [_sent(again, each) for each in others] == [202] * len(others)
        told = _bulk(again, lines)
        assert told == _bulk(again, lines)
        assert [line["status"] for line in told] == [202] * BUILDS
        assert len({line["build"]["build_id"] for line in told}) == BUILDS
    counted = db.one(
        "SELECT (SELECT count(*) FROM passports) AS passports, (SELECT count(*) FROM blobs) AS blobs,"
        " (SELECT count(*) FROM jobs WHERE type = 'INGEST_DOCUMENT') AS jobs"
    )
    assert builds(db) == BUILDS
    assert counted == {
        "passports": BUILDS, "blobs": len(entries()), "jobs": len(entries()) + BUILDS,
    }  # fmt: skip
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        until(
            lambda: not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')"),
            within=120, what="the end of all jobs",
        )  # fmt: skip
    assert db.run("SELECT type, fail_reason FROM jobs WHERE status = 'DEAD_LETTER'") == []


def builds(db: Database) -> int:
    return int(str(db.one("SELECT count(*) AS found FROM passport_builds")["found"]))


def _sent(made: Manufacturer, entry: dict[str, str]) -> int:
    """0: nobody answered."""
    try:
        return made.sent(content(entry), entry, key=entry["file"], wait=None).status
    except (OSError, HTTPException):
        return 0


def _bulk(made: Manufacturer, lines: list[dict[str, object]]) -> list[Any]:
    try:
        return made.lines("/v1/builds:bulk", lines, key="night")
    except (OSError, HTTPException):
        return []
