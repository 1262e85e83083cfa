"""DELIVER_WEBHOOK: what each answer of a receiver means for the job, the delivery and the endpoint."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bpc_worker.core.webhook_signature import WebhookKeys, verify
from bpc_worker.handler_api import Answer, Code, Permanent, Retryable, Tally
from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY, Sealer
from bpc_worker.testing import A_TENANT, Drained, Posted, Receiver, Workbench, a_job, an_id
from handlers.deliver_webhook import SPEC

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
ENDPOINT = an_id(2)
KEYS, FORMER = WebhookKeys(secret=b"n" * 32, seed=b"N" * 32), WebhookKeys(secret=b"o" * 32, seed=b"O" * 32)
PAYLOAD = {"webhook_delivery_id": str(an_id(1))}
BODY = '{"text":"🔋 a/b"}'.encode()


def sealed(keys: WebhookKeys, row_id: Any = ENDPOINT) -> bytes:
    sealer = Sealer([DEVELOPMENT_SEALING_KEY])
    return sealer.seal(keys.to_bytes(), tenant_id=A_TENANT, row_id=row_id)


def row(**changed: object) -> dict[str, object]:
    return {
        "webhook_delivery_id": an_id(1), "event_type": "PASSPORT_SIGNED", "body": BODY, "status": "PENDING",
        "webhook_endpoint_id": ENDPOINT, "url": "https://example.com/hook", "endpoint_status": "ACTIVE",
        "disabled_reason": None, "failing_since": None, "secret": sealed(KEYS), "former_secret": None,
        "now": NOW, "event_id": an_id(3),
    } | changed  # fmt: skip


class Trial:
    """One delivery to a receiver that answers so."""

    def __init__(self, answers: Callable[[Posted], Answer], **changed: object) -> None:
        self.receiver = Receiver(answers)
        end = {"now": NOW, "aggregate_version": None, "event_hash": None}
        self.bench = Workbench(
            handlers=SPEC,
            answers={
                "webhooks/read_delivery": [row(**changed)],
                "webhooks/disable": [{"webhook_endpoint_id": ENDPOINT}],
                "events/lock_head": [end],
            },
            egress=self.receiver,
        )

    async def run(self, attempts: int = 1) -> Drained:
        await self.bench.enqueue(a_job("DELIVER_WEBHOOK", payload=PAYLOAD, max_attempts=attempts))
        return await self.bench.drain()


def answering(status: int, *headers: tuple[str, str], body: bytes = b"") -> Callable[[Posted], Answer]:
    return lambda _: Answer(status, headers, body)


def raising(error: Exception) -> Callable[[Posted], Answer]:
    def answer(_: Posted) -> Answer:
        raise error

    return answer


def wrote(drained: Drained) -> list[str]:
    return [each.text for each in drained.only.wrote]


@pytest.mark.parametrize("status", [200, 201, 204, 299])
async def test_2xx_is_delivered_with_what_was_answered(status: int) -> None:
    trial = Trial(answering(status, ("Set-Cookie", "a"), ("set-cookie", "b"), body=b"\x00\xff"))
    done = await trial.run()

    assert (done.only.status, wrote(done)) == ("SUCCEEDED", ["webhooks/delivered"])
    [kept] = [each.params for each in done.only.wrote]
    assert (kept["http_status"], kept["response_body"], kept["error_message"]) == (status, b"\x00\xff", None)
    assert json.loads(str(kept["response_headers"])) == {"set-cookie": "a, b"}
    assert trial.bench.measured.counts == [(Tally.WEBHOOK_DELIVERIES, "DELIVERED")]


async def test_what_is_sent_is_the_stored_bytes_under_the_endpoints_secret() -> None:
    trial = Trial(answering(200), former_secret=sealed(FORMER))
    await trial.run()

    [posted] = trial.receiver.posted
    assert (posted.url, posted.body) == ("https://example.com/hook", BODY)
    assert posted.kept_for == (A_TENANT, str(ENDPOINT))
    assert posted.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    for keys in (KEYS, FORMER):
        given = {name: value for name, value in posted.headers.items() if name != "X-BPC-Signature"}
        assert verify(given, BODY, now=None, secret=keys.secret_text) == ["webhook-signature v1"]


@pytest.mark.parametrize("status", [100, 300, 304, 400, 401, 404, 408, 429, 500, 502, 503, 504, 599])
async def test_everything_else_is_tried_again_and_noted(status: int) -> None:
    trial = Trial(answering(status))
    done = await trial.run(attempts=2)

    assert (done.only.status, done.only.attempts, done.only.code) == ("DEAD_LETTER", 2, "WEBHOOK_FAILED")
    assert wrote(done)[:2] == ["webhooks/not_delivered", "webhooks/fails"]
    assert len(trial.receiver.posted) == 2
    assert done.only.message == f"example.com answered {status}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_tried_again_and_its_status_is_noted(status: int) -> None:
    """A page for the time of maintenance, as a rule."""
    trial = Trial(answering(status, ("Location", "https://elsewhere.example/")))
    done = await trial.run(attempts=2)

    assert (done.only.status, done.only.attempts, done.only.code) == ("DEAD_LETTER", 2, "WEBHOOK_FAILED")
    assert done.only.message == f"example.com answered {status}, and redirects are not followed"
    assert [posted.url for posted in trial.receiver.posted] == ["https://example.com/hook"] * 2


@pytest.mark.parametrize("wish", ["90", "Mon, 01 Mar 2027 12:01:30 GMT"])
async def test_a_wish_for_patience_is_kept_to(wish: str) -> None:
    trial = Trial(answering(503, ("Retry-After", wish)))
    began = trial.bench.clock.now
    await trial.run(attempts=2)

    assert trial.bench.clock.now - began == timedelta(seconds=90)


@pytest.mark.parametrize("code", [Code.WEBHOOK_TIMEOUT, Code.WEBHOOK_FAILED])
async def test_no_answer_is_tried_again(code: Code) -> None:
    done = await Trial(raising(Retryable(code, "nothing came"))).run(attempts=1)

    assert (done.only.status, done.only.code) == ("DEAD_LETTER", code)
    assert done.only.wrote[0].params["http_status"] is None
    assert done.only.wrote[0].params["error_message"] == f"{code}: nothing came"


async def test_gone_switches_the_endpoint_off_with_an_event() -> None:
    done = await Trial(answering(410)).run(attempts=5)

    assert (done.only.status, done.only.code, done.only.attempts) == ("FAILED", "WEBHOOK_GONE", 1)
    assert wrote(done) == [
        "webhooks/not_delivered", "webhooks/disable", "events/lock_head", "events/append",
    ]  # fmt: skip
    assert done.only.wrote[-1].params["event_type"] == "WEBHOOK_ENDPOINT_DISABLED"


async def test_an_address_that_may_not_be_called_fails_and_switches_nothing_off() -> None:
    done = await Trial(raising(Permanent(Code.WEBHOOK_BLOCKED, "not public"))).run()

    assert (done.only.status, done.only.code) == ("FAILED", "WEBHOOK_BLOCKED")
    assert wrote(done) == ["webhooks/not_delivered"]


@pytest.mark.parametrize(("days", "status"), [(4.9, "DEAD_LETTER"), (5.1, "FAILED")])
async def test_days_of_nothing_but_failures_switch_the_endpoint_off(days: float, status: str) -> None:
    done = await Trial(answering(500), failing_since=NOW - timedelta(days=days)).run()

    assert done.only.status == status
    assert ("webhooks/disable" in wrote(done)) == (status == "FAILED")


async def test_a_success_ends_the_time_of_failures() -> None:
    done = await Trial(answering(200), failing_since=NOW - timedelta(days=9)).run()

    assert wrote(done) == ["webhooks/delivered", "webhooks/works"]


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"status": "DELIVERED"}, "SUCCEEDED", None),
        ({"status": "FAILED"}, "FAILED", "VALIDATION_ERROR"),
        ({"endpoint_status": "DISABLED", "disabled_reason": "moved"}, "FAILED", "WEBHOOK_GONE"),
        ({"secret": sealed(KEYS, an_id(3))}, "FAILED", "FORBIDDEN"),
        ({"former_secret": sealed(KEYS, an_id(3))}, "FAILED", "FORBIDDEN"),
        ({"secret": b""}, "FAILED", "CONFIG_MISSING"),
    ],
)
async def test_what_cannot_be_sent_is_not_sent(
    changed: dict[str, object], status: str, code: str | None
) -> None:
    trial = Trial(answering(200), **changed)
    done = await trial.run()

    assert (done.only.status, done.only.code) == (status, code)
    assert trial.receiver.posted == []


async def test_while_the_breaker_is_open_deliveries_wait_and_lose_no_attempt() -> None:
    trial = Trial(answering(500))
    for _ in range(11):
        await trial.bench.enqueue(a_job("DELIVER_WEBHOOK", payload=PAYLOAD, max_attempts=2))
    done = await trial.run(attempts=2)

    assert {job.status for job in done.jobs} == {"DEAD_LETTER"}
    assert len(trial.receiver.posted) == 24  # ten failures opened it, and no attempt was lost by waiting
    assert any("job:snoozed" in job.events for job in done.jobs)


async def test_long_headers_are_cut() -> None:
    many = [(f"x-{number}", "v" * 1000) for number in range(50)]
    done = await Trial(answering(200, *many)).run()

    kept = json.loads(str(done.only.wrote[0].params["response_headers"]))
    assert list(kept) == [f"x-{number}" for number in range(16)]
