"""Many deliveries: difficult bodies, retries, a secret that is replaced meanwhile; each one is checked."""

import json
from collections import defaultdict
from pathlib import Path

from aiohttp import web

from bpc_worker.core.webhook_signature import public_key_text, verify
from bpc_worker.pipeline.webhooks import Keys, rotate
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.webhook_receiver import Received, endpoint, happen, holds, receiver, six_lines
from tests.support.worker import until, worker

_PAYLOADS: tuple[dict[str, object], ...] = (
    {"text": "Größe, 電池, łódź, \u0001 \u007f"},
    {"text": "🔋🪫👩🏽‍🔧 \u2028\u2029 \U0010ffff"},
    {"path": "https://example.com/a/b?c=d&e=%2F", "slashes": "</script> \\/ \\\\ \"'"},
    {"large": "ä€😀x" * 10_200},  # 100 kB in UTF-8
    {"number": 9007199254740991, "nested": {"list": [1, [2, {"three": None}], True]}},
)


def try_out(db: Database, folder: Path, count: int) -> dict[str, int]:
    """Figures, after everything has been checked. Every fifth delivery is refused once."""
    db.tenant()
    path = Pipeline(db)
    refused: set[str] = set()

    def answers(one: Received) -> web.StreamResponse:
        key = one.headers["webhook-id"]
        if int(key.replace("-", ""), 16) % 5 == 0 and key not in refused:
            refused.add(key)
            return web.Response(status=503, text="not now")
        return web.Response(text="🔋 thank you")

    with receiver(folder, answers) as there:
        old = endpoint(path, there.url, there.settings)
        settings = {
            **there.settings,
            "BPC_JOBS_BACKOFF_BASE": "1",
            "BPC_CIRCUIT_BREAKER_FAILURE_THRESHOLD": "1",
        }
        with worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info", **settings) as running:
            _happen(path, count // 2)
            until(lambda: len(there.received) > count // 4, within=120, what="the first quarter")
            new = path.call(
                lambda pipeline: rotate(pipeline, str(old.webhook_endpoint_id), overlap_seconds=3600)
            )
            _happen(path, count - count // 2)
            until(lambda: _delivered(db) == count, within=400, what="all of them", every=0.2)
            told = running.metric("bpc_webhook_deliveries_total", status="DELIVERED")
        assert told == count
        _check(db, there.received, old, new)
    db.check_history()
    return {
        "deliveries": count,
        "requests": len(there.received),
        "refused once": len(refused),
        "signed by both": sum(len(one.headers["webhook-signature"].split()) == 4 for one in there.received),
        "largest body": max(len(one.body) for one in there.received),
    }


def _happen(path: Pipeline, count: int) -> None:
    for start in range(0, count, 100):
        numbers = range(start, min(count, start + 100))
        happen(path, *({"n": number} | _PAYLOADS[number % len(_PAYLOADS)] for number in numbers))


def _delivered(db: Database) -> int:
    row = db.one("SELECT count(*) AS n FROM webhook_deliveries WHERE status = 'DELIVERED'")
    return int(str(row["n"]))


def _check(db: Database, received: list[Received], old: Keys, new: Keys) -> None:
    bodies = {
        str(row["webhook_delivery_id"]): (bytes(row["body"]), row["event_type"])  # type: ignore[call-overload]
        for row in db.run("SELECT webhook_delivery_id, body, event_type FROM webhook_deliveries")
    }
    attempts = defaultdict(list)
    for one in received:
        assert (one.body, one.headers["x-bpc-event-type"]) == bodies[str(one.delivery_id)]
        assert one.headers["content-type"] == "application/json"
        assert one.headers["webhook-id"] == str(one.delivery_id)
        assert list(json.loads(one.body)) == [
            "event_id", "event_type", "aggregate_type", "aggregate_id", "occurred_at", "payload",
        ]  # fmt: skip
        by = [keys for keys in (old, new) if holds(one, keys.secret)]
        assert by
        assert any(six_lines(keys.secret, one.body, one.headers["x-bpc-signature"]) for keys in by)
        for keys in by:
            public_key = public_key_text(keys.public_key)
            assert verify(one.headers, one.body, now=None, public_key=public_key) == ["webhook-signature v1a"]
        attempts[one.delivery_id].append(one)
    assert {str(each) for each in attempts} == set(bodies)
    again = [tries for tries in attempts.values() if len(tries) > 1]
    assert again
    for tries in again:  # the same message, at another time, under another signature
        assert len({one.headers["webhook-timestamp"] for one in tries}) == len(tries)
        assert len({one.headers["webhook-signature"] for one in tries}) == len(tries)
    # Before the secret was replaced one signed; after it, both.
    assert {len(one.headers["webhook-signature"].split()) for one in received} == {2, 4}
