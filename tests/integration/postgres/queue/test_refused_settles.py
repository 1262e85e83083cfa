"""A database that refuses an end: what the end says must be at fault before a job becomes FAILED for it."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from bpc_worker.engine import settler as settler_module
from bpc_worker.engine.health import Health
from bpc_worker.engine.settler import Settler
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.model import Claim, Done, ErrorInfo, Released, Retry, Settleable, Snoozed, Status
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from tests.support.database import Database

# Refuses the ends of jobs, with this code, as long as it stands there; how often, a sequence counts.
REFUSES = """
CREATE TABLE refusal (code text NOT NULL);
CREATE SEQUENCE refusals;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE found_code text := (SELECT code FROM refusal);
BEGIN
  IF found_code IS NOT NULL THEN
    PERFORM nextval('refusals');
    RAISE EXCEPTION 'not now' USING ERRCODE = found_code;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW
WHEN (OLD.lease_owner IS NOT NULL AND NEW.lease_owner IS NULL AND NEW.status <> 'FAILED')
EXECUTE FUNCTION refuse();
"""
BROKEN = ErrorInfo("COMMAND_FAILED", "might work later", True)
OUTCOMES: tuple[Settleable, ...] = (Done('{"a": 1}'), Retry(BROKEN), Released(), Snoozed(BROKEN, 1.0))
WRITTEN = [Status.SUCCEEDED, Status.QUEUED, Status.QUEUED, Status.QUEUED]
ATTEMPTS_LEFT_ON_ROWS = [1, 1, 0, 0]
OFTEN = 8 * len(OUTCOMES)
ALL_TOGETHER = ("58030", "25006", "08006", "42501", "40001", "55P03")  # no better for one of them alone

WAITED_OUT = [
    *("53100", "53200", "53400", "57014", "XX000", "XX001", "P0001", "0A000", "2F004"),
    *ALL_TOGETHER,
]


class Bench:
    def __init__(self, db: Database) -> None:
        self.db = db
        settings = QueueSettings(owner="w", types=("TEST_NOOP",), backoff=Backoff())
        self.store = PostgresJobs(Dsn(url=db.url, application_name="refused"), settings)
        self.health = Health()
        self.settler = Settler(self.store, plain, on_database=self.health.note_holder)
        self.told: dict[Claim, Status | None] = {}

    def refuse(self, code: str) -> None:
        self.db.run("INSERT INTO refusal VALUES (%s)", [code])

    def relent(self) -> None:
        self.db.run("DELETE FROM refusal")

    async def claims(self) -> list[Claim]:
        for _ in OUTCOMES:
            self.db.enqueue("TEST_NOOP")
        look = await self.store.claim(limit=len(OUTCOMES))
        assert len(look.claims) == len(OUTCOMES)
        return list(look.claims)

    def add(self, claim: Claim, outcome: Settleable) -> None:
        self.settler.add(claim, outcome, lambda status: self.told.update({claim: status}))

    async def until(self, fact: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not fact():
                await asyncio.sleep(0.02)

    def refused(self) -> int:
        row = self.db.one("SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS n FROM refusals")
        return int(str(row["n"]))

    def attempts(self, claims: list[Claim]) -> list[object]:
        return [self.db.job(str(claim.job_id))["attempts"] for claim in claims]


def plain(claim: Claim, outcome: Settleable) -> Settlement:
    return settlement(claim, outcome, backoff=Backoff(), dice=0.5)


@pytest.fixture
async def bench(db: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setattr(settler_module, "_LONGEST_PAUSE", 0.02)
    db.run(REFUSES)
    bench = Bench(db)
    yield bench
    bench.store.close()


@pytest.mark.parametrize("code", WAITED_OUT)
async def test_a_refusal_that_may_pass_is_waited_out(bench: Bench, code: str) -> None:
    claims = await bench.claims()
    bench.refuse(code)
    for claim, outcome in zip(claims, OUTCOMES, strict=True):
        bench.add(claim, outcome)
    enough = 8 if code in ALL_TOGETHER else OFTEN
    await bench.until(lambda: bool(bench.told) or bench.refused() >= enough)
    assert bench.told == {}
    met_another = code in {"40001", "55P03"}
    assert (bench.health.spared_seconds == 0) is met_another, "who cannot settle is not to be reaped"

    bench.relent()
    await bench.until(lambda: len(bench.told) == len(OUTCOMES))

    assert [bench.told[claim] for claim in claims] == WRITTEN
    assert bench.attempts(claims) == ATTEMPTS_LEFT_ON_ROWS
    assert bench.db.run("SELECT FROM jobs WHERE fail_code = 'VALIDATION_ERROR'") == []


@pytest.mark.parametrize("code", ["22P02", "23514", "54000"])
async def test_what_can_never_be_stored_fails(bench: Bench, code: str) -> None:
    claims = await bench.claims()
    bench.refuse(code)
    for claim, outcome in zip(claims, OUTCOMES, strict=True):
        bench.add(claim, outcome)
    await bench.until(lambda: len(bench.told) == len(OUTCOMES))

    assert [bench.told[claim] for claim in claims] == [Status.FAILED] * len(OUTCOMES)
    assert {bench.db.job(str(claim.job_id))["fail_code"] for claim in claims} == {"VALIDATION_ERROR"}
    assert bench.health.spared_seconds == 0


async def test_a_refused_end_is_tried_until_somebody_has_reaped_the_row(bench: Bench) -> None:
    claims = await bench.claims()
    bench.refuse("53100")
    bench.add(claims[0], OUTCOMES[0])
    await bench.until(lambda: bool(bench.told) or bench.refused() >= 10)
    assert bench.told == {}
    bench.relent()
    bench.db.run(
        "UPDATE jobs SET status = 'QUEUED', lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL"
        " WHERE job_id = %s",
        [claims[0].job_id],
    )
    await bench.until(lambda: bool(bench.told))

    assert bench.told == {claims[0]: None}


async def test_ends_whose_claim_was_refused_are_waited_for_as_well(bench: Bench) -> None:
    claims = await bench.claims()
    bench.refuse("53100")
    for claim in claims:
        bench.add(claim, Done())
    with bench.settler.ends_for_next_claim() as riding:
        ends = [(end.claim, end.settlement) for end in riding]
        assert len(ends) == len(claims)
        with pytest.raises(JobError):
            await bench.store.claim(limit=1, ends=ends)
        bench.settler.retry_unconfirmed(riding)
    await bench.until(lambda: bool(bench.told) or bench.refused() >= OFTEN)
    assert bench.told == {}
    bench.relent()
    await bench.until(lambda: len(bench.told) == len(claims))

    assert set(bench.told.values()) == {Status.SUCCEEDED}


async def test_a_row_that_is_refused_for_long_holds_up_no_other(bench: Bench) -> None:
    claims = await bench.claims()
    bench.db.run("DROP TRIGGER refuse ON jobs")
    bench.db.run(
        "CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW WHEN (OLD.lease_owner IS NOT NULL AND"
        f" NEW.lease_owner IS NULL AND OLD.job_id = '{claims[1].job_id}') EXECUTE FUNCTION refuse()"
    )
    bench.refuse("XX001")
    for claim in claims:
        bench.add(claim, Done())
    await bench.until(lambda: bench.refused() >= 3 or len(bench.told) == len(claims))
    await bench.until(lambda: len(bench.told) >= len(claims) - 1)
    assert bench.refused() <= 6, "the others did not wait for it"
    assert claims[1] not in bench.told

    bench.relent()
    await bench.until(lambda: len(bench.told) == len(claims))
    assert set(bench.told.values()) == {Status.SUCCEEDED}
