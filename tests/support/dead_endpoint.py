"""Deliveries to an endpoint that is dead for a while, beside work that must not notice."""

import time
from pathlib import Path

from tests.support.certificates import Authority
from tests.support.database import Database, free_port
from tests.support.pipeline import Pipeline
from tests.support.webhook_receiver import endpoint, happen, reaching, receiver
from tests.support.worker import Worker, until, worker

OTHERS = 20
SETTINGS = {
    "BPC_JOBS_BACKOFF_MAX": "2",
    "BPC_CIRCUIT_BREAKER_COOLDOWN_PERIOD": "5",
    "BPC_LOG_LEVEL": "info",
}


def outlive(db: Database, folder: Path, count: int) -> dict[str, float]:
    """Figures, after everything has been checked: all are delivered when the endpoint returns."""
    db.tenant()
    path, authority, dead_port = Pipeline(db), Authority(folder), free_port()
    with receiver(folder, authority=authority) as alive:
        settings = reaching(dead_port, authority) | {"BPC_WEBHOOK_PORTS": f"{dead_port},{alive.port}"}
        dead_url = f"https://127.0.0.1:{dead_port}/hook"
        endpoint(path, dead_url, settings, max_attempts=100, events="PASSPORT_SIGNED")
        endpoint(path, alive.url, settings, events="DOCUMENT_VALIDATED")
        for start in range(0, count, 250):
            happen(path, *({"n": number} for number in range(start, min(count, start + 250))))
        with worker(db.url_as("bpc_worker"), **settings, **SETTINGS) as running:
            until(lambda: _open(running), within=60, what="an open breaker")
            slowest = max(_delay_of_others(db, path) for _ in range(3))
            snoozed = db.one("SELECT count(*) AS n FROM job_events WHERE type = 'job:snoozed'")["n"]
            with receiver(folder, authority=authority, port=dead_port) as back:
                began = time.monotonic()
                until(lambda: _waiting(db) == 0, within=500, what="all of them delivered", every=0.5)
                seconds = time.monotonic() - began
    ended = db.one(
        "SELECT count(*) FILTER (WHERE d.status = 'DELIVERED') AS delivered, max(j.attempts) AS attempts"
        " FROM webhook_deliveries d JOIN jobs j ON j.idempotency_key = d.webhook_delivery_id::text"
        " WHERE d.event_type = 'PASSPORT_SIGNED'"
    )
    assert ended["delivered"] == count
    assert {one.delivery_id for one in back.received} == _ids(db)
    assert len(back.received) == count  # nobody was told twice
    db.check_history()
    return {
        "deliveries": count,
        "most attempts": float(str(ended["attempts"])),
        "snoozes while it was dead": float(str(snoozed)),
        "slowest of the others, s": slowest,
        "all delivered after, s": seconds,
    }


def _open(running: Worker) -> bool:
    return running.metric("bpc_circuit_breaker_state", target="127.0.0.1") == 2


def _delay_of_others(db: Database, path: Pipeline) -> float:
    """Seconds until plain jobs and deliveries to another endpoint, queued now, have ended."""
    began = time.monotonic()
    happen(path, *({"other": number} for number in range(OTHERS)), event_type="DOCUMENT_VALIDATED")
    for _ in range(OTHERS):
        db.enqueue("TEST_NOOP")
    until(
        lambda: (
            not db.run(
                "SELECT FROM jobs j LEFT JOIN webhook_deliveries d"
                " ON j.idempotency_key = d.webhook_delivery_id::text"
                " WHERE j.status <> 'SUCCEEDED'"
                " AND (j.type = 'TEST_NOOP' OR d.event_type = 'DOCUMENT_VALIDATED') LIMIT 1"
            )
        ),
        within=60,
        what="the others",
    )
    return time.monotonic() - began


def _waiting(db: Database) -> int:
    row = db.one("SELECT count(*) AS n FROM jobs WHERE status IN ('QUEUED', 'RUNNING')")
    return int(str(row["n"]))


def _ids(db: Database) -> set[object]:
    rows = db.run("SELECT webhook_delivery_id FROM webhook_deliveries WHERE event_type = 'PASSPORT_SIGNED'")
    return {row["webhook_delivery_id"] for row in rows}
