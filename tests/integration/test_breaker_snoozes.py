"""A handler behind an open breaker: no attempt is burnt, and patience ends at the hundredth snooze."""

from datetime import timedelta
from typing import TYPE_CHECKING, cast
from uuid import UUID

from bpc_worker.egress.breaker import BreakerRules, Breakers
from bpc_worker.engine.attempt import attempt
from bpc_worker.engine.context import Equipment, HandlerContext
from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.handler_api import Code, Context, HandlerSpec, Payload, Retryable
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.model import Claim, Lost, NewJob, Status, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import settlement
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.testing import NOON
from tests.support.database import Database

if TYPE_CHECKING:
    import msgspec

    from bpc_worker.engine.lease import Lease


class Nothing(Payload, frozen=True):
    pass


class Outside:
    """A target that never works, and a context whose breaker is the real one."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = 0
        breakers = Breakers(BreakerRules(min_samples=2), clock=lambda: self.now)
        equipment = Equipment(
            database=None, ahead=None, children=None, commands={}, policy=None, keyring=None,  # type: ignore[arg-type]  # not asked for
            breakers=breakers, egress=None, turnstiles=None, settlement=None, metrics=None,  # type: ignore[arg-type]
            held=HeldBytes(1),
        )  # fmt: skip
        self.context = HandlerContext(cast("Lease", None), equipment)
        self.spec = HandlerSpec(job_type="TEST_CALL", payload=Nothing, handle=self.handle)

    async def handle(self, _: Nothing, ctx: Context) -> None:
        with ctx.breaker("hooks.example", code=Code.WEBHOOK_FAILED):
            self.calls += 1
            raise Retryable(Code.WEBHOOK_FAILED, "it answers 503")


async def test_while_open_no_attempt_is_counted_and_the_hundred_and_first_snooze_is_the_last(
    db: Database,
) -> None:
    outside = Outside()
    settings = QueueSettings(owner="w", types=("TEST_CALL",))
    store = PostgresJobs(Dsn(url=db.url, application_name="test"), settings, now=NOON)

    async def one_look() -> tuple[Claim, Status | None]:
        [claim] = (await store.claim(limit=1)).claims
        outcome = await attempt(cast("HandlerSpec[msgspec.Struct]", outside.spec), claim, outside.context)
        assert not isinstance(outcome, Lost)
        return claim, await store.settle(claim, settlement(claim, outcome, backoff=Backoff(), dice=0.0))

    assert store.now is not None
    job = NewJob(type="TEST_CALL", max_attempts=5)
    job_id = (await store.enqueue(TenantId(UUID(db.tenant())), job)).job_id
    for _ in range(2):  # two real failures open it
        await one_look()
        store.now += timedelta(seconds=5)
    statuses = []
    for _ in range(101):
        claim, status = await one_look()
        statuses.append(status)
        assert claim.attempts == 3  # the third attempt, again and again
        if status is Status.QUEUED:
            due = db.one("SELECT scheduled_at FROM jobs")["scheduled_at"]
            assert due >= store.now + timedelta(seconds=30)  # type: ignore[operator]  # the rest of the cooldown
            store.now += timedelta(hours=1)
    store.close()

    row = db.job(str(job_id))
    assert outside.calls == 2
    assert statuses == [Status.QUEUED] * 100 + [Status.DEAD_LETTER]
    assert (row["fail_code"], row["snoozes"]) == ("WEBHOOK_FAILED", 101)
