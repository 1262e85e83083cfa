"""An operator's hands on a real PostgreSQL: what is allowed, chosen, touched and noted."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

import pytest

from bpc_worker.config import load as config
from bpc_worker.jobs.errors import Permanent, SchemaMismatch
from bpc_worker.jobs.store import PauseKind
from bpc_worker.operator import acts, dead, pauses, watch
from bpc_worker.operator.jobs import JobFilter, JobLine, explain, list_jobs, story, wait_for_jobs
from bpc_worker.operator.session import Operator, open_operator
from tests.support.database import Database
from tests.support.history import events
from tests.support.operators import kinds, letters

T = TypeVar("T")
NOBODY = UUID(int=7)
ENDED = ("SUCCEEDED", "CANCELLED")


async def as_operator(
    db: Database, work: Callable[[Operator], Awaitable[T]], role: str = "bpc_operator", **env: str
) -> T:
    async with open_operator(config.load(env=env), db.url_as(role)) as operator:
        return await work(operator)


async def listed(
    operator: Operator, limit: int = 100, after: UUID | None = None, **wanted: object
) -> list[str]:
    found: list[JobLine] = []
    async for line in list_jobs(operator, JobFilter(**wanted), limit=limit, after=after):  # type: ignore[arg-type]
        found.append(line)  # noqa: PERF401 - an async comprehension hides the type
    return [str(line.job_id) for line in found]


# --- one job ---


async def test_what_has_died_is_retried_and_noted(db: Database) -> None:
    [job_id] = letters(db)

    await as_operator(db, lambda op: acts.retry(op, UUID(job_id)))

    assert (db.job(job_id)["status"], db.job(job_id)["attempts"]) == ("QUEUED", 0)
    [event] = events(db, job_id)
    assert event["type"] == "job:requeued"
    assert event["data"] == {
        "by": "bpc_operator_login", "from": "DEAD_LETTER", "attempts": 1, "code": "COMMAND_FAILED",
    }  # fmt: skip


@pytest.mark.parametrize("status", ENDED)
@pytest.mark.parametrize(
    "act",
    [acts.retry, acts.discard, lambda op, job_id: acts.retry(op, job_id, acts.Patch(("a",), "2"))],
    ids=["retry", "discard", "patch"],
)
async def test_what_has_ended_well_or_was_given_up_cannot_be_brought_back(
    db: Database, act: Callable[[Operator, UUID], Awaitable[None]], status: str
) -> None:
    job_id = db.enqueue("TEST_NOOP", '{"a": 1}', status=status)
    before = db.job(job_id)

    with pytest.raises(Permanent, match=f"is {status}: only DEAD_LETTER and FAILED can be") as refused:
        await as_operator(db, lambda op: act(op, UUID(job_id)))

    assert refused.value.code == "FORBIDDEN"
    assert (db.job(job_id), db.events(job_id)) == (before, [])


@pytest.mark.parametrize("act", [acts.retry, acts.discard, acts.cancel, acts.replay, explain, story])
async def test_a_job_that_is_not_there(
    db: Database, act: Callable[[Operator, UUID], Awaitable[object]]
) -> None:
    with pytest.raises(Permanent, match=f"no job {NOBODY}") as missing:
        await as_operator(db, lambda op: act(op, NOBODY))

    assert missing.value.code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "value", "becomes"),
    [
        (("command",), '"hello"', {"command": "hello", "in": {"list": [1, 2]}}),
        (("in", "list", "1"), "3", {"command": "helo", "in": {"list": [1, 3]}}),
        (("in", "new"), "null", {"command": "helo", "in": {"list": [1, 2], "new": None}}),
        (("in",), "{}", {"command": "helo", "in": {}}),
    ],
)
async def test_a_payload_is_mended_in_one_place_and_nothing_else_changes(
    db: Database, path: tuple[str, ...], value: str, becomes: object
) -> None:
    payload = {"command": "helo", "in": {"list": [1, 2]}}
    [job_id] = letters(db, payload='{"command": "helo", "in": {"list": [1, 2]}}')
    db.run("UPDATE jobs SET idempotency_key = 'k', spec_hash = sha256('x'), priority = 1")
    before = db.job(job_id)

    await as_operator(db, lambda op: acts.retry(op, UUID(job_id), acts.Patch(path, value)))

    after = db.job(job_id)
    assert after["payload"] == becomes
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {
        "payload",
        "spec_hash",
        "status",
        "attempts",
        "scheduled_at",
        "started_at",
        "finished_at",
        "fail_code",
        "fail_reason",
    }  # fmt: skip - all but the first two are what every retry clears
    patched, requeued = events(db, job_id)
    assert (patched["type"], requeued["type"]) == ("job:payload_patched", "job:requeued")
    data = patched["data"]
    assert isinstance(data, dict)
    assert (data["by"], data["payload"], data["path"]) == ("bpc_operator_login", payload, list(path))
    assert data["spec_hash"] == hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize("path", [("a", "b"), ("x", "y"), ("list", "7"), ("list", "one")], ids=".".join)
async def test_a_place_that_is_not_there_is_refused(db: Database, path: tuple[str, ...]) -> None:
    [job_id] = letters(db, payload='{"a": 1, "list": [1]}')
    before = db.job(job_id)

    with pytest.raises(Permanent, match=f"has no place {'.'.join(path)}; see"):
        await as_operator(db, lambda op: acts.retry(op, UUID(job_id), acts.Patch(path, "2")))
    assert (db.job(job_id), db.events(job_id)) == (before, [])


async def test_a_replay_is_the_same_work_as_a_new_job(db: Database) -> None:
    job_id = db.enqueue(
        "TEST_NOOP", '{"a": 1.10}', status="SUCCEEDED", queue="q", priority=1, idempotency_key="k",
        correlation_id="c", max_attempts=3,
    )  # fmt: skip

    made = str(await as_operator(db, lambda op: acts.replay(op, UUID(job_id))))

    old, new = db.job(job_id), db.job(made)
    same = ("tenant_id", "type", "payload", "queue", "priority", "max_attempts", "correlation_id")
    assert [new[name] for name in same] == [old[name] for name in same]
    assert (new["status"], new["idempotency_key"], str(new["parent_job_id"])) == ("QUEUED", None, job_id)
    assert (db.events(job_id), db.events(made)) == (["job:replayed"], ["job:replay_of"])
    authors = {each["data"]["by"] for each in (*events(db, job_id), *events(db, made))}  # type: ignore[index]
    assert authors == {"bpc_operator_login"}


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING"])
async def test_what_has_not_ended_is_not_replayed(db: Database, status: str) -> None:
    lease = {"lease_owner": "w", "lease_expires_at": "2100-01-01"} if status == "RUNNING" else {}
    job_id = db.enqueue("TEST_NOOP", status=status, **lease)

    with pytest.raises(Permanent, match="only a job that has ended can be replayed"):
        await as_operator(db, lambda op: acts.replay(op, UUID(job_id)))
    assert len(db.run("SELECT job_id FROM jobs")) == 1


async def test_a_reader_changes_nothing(db: Database) -> None:
    [job_id] = letters(db)
    before = db.job(job_id)

    for act in (acts.retry, acts.cancel, acts.discard, acts.replay):
        with pytest.raises(SchemaMismatch, match="permission denied"):
            await as_operator(db, lambda op, act=act: act(op, UUID(job_id)), "bpc_reader")  # type: ignore[misc]
    seen = await as_operator(db, lambda op: story(op, UUID(job_id)), "bpc_reader")
    await as_operator(db, watch.picture, "bpc_reader")

    assert str(seen.job.job_id) == job_id
    assert (db.job(job_id), db.events(job_id)) == (before, [])


# --- many ---

CHOICES = {
    "type": ({"type_": "TEST_NOOP"}, {"a", "c", "t", "old"}),
    "code": ({"code": "COMMAND_FAILED"}, {"a", "b", "t", "old"}),
    "tenant": ({"tenant": "other"}, {"t"}),
    "older": ({"older_seconds": 7200.0}, {"old"}),
    "newer": ({"newer_seconds": 7200.0}, {"a", "b", "c", "t"}),
    "type and code": ({"type_": "TEST_NOOP", "code": "LEASE_EXPIRED"}, {"c"}),
    "failed too": ({"type_": "TEST_NOOP", "failed_too": True}, {"a", "c", "t", "old", "f"}),
    "none": ({"code": "QUEUE_FULL"}, set()),
}


@pytest.mark.parametrize("act", [dead.retry, dead.discard], ids=["retry", "discard"])
@pytest.mark.parametrize("chosen", CHOICES)
async def test_what_is_chosen_is_what_is_counted_listed_and_touched(
    db: Database, chosen: str, act: Callable[[Operator, dead.Choice], object]
) -> None:
    filters, expected = CHOICES[chosen]
    made = {
        "a": letters(db), "b": letters(db, job_type="TEST_FAIL"), "c": letters(db, code="LEASE_EXPIRED"),
        "t": letters(db, tenant="other"), "old": letters(db, age="3 days"), "f": letters(db, status="FAILED"),
    }  # fmt: skip
    untouched = {name: db.job(ids[0]) for name, ids in made.items() if name not in expected}
    wanted = {made[name][0] for name in expected}

    async def work(op: Operator) -> tuple[list[dead.Kind], set[str], set[str], int]:
        choice = await dead.choose(op, **filters)  # type: ignore[arg-type]
        kinds_found = await dead.count(op, choice)
        found = {str(line.job_id) async for line in dead.lines(op, choice, limit=100)}
        exported = {str(row.job_id) async for row in dead.export(op, choice, limit=100)}
        return kinds_found, found, exported, sum([touched async for touched in act(op, choice)])  # type: ignore[attr-defined]

    counted, found, exported, touched = await as_operator(db, work)

    assert found == exported == wanted
    assert sum(kind.count for kind in counted) == touched == len(wanted)
    for name, ids in made.items():
        if name in expected:
            assert db.job(ids[0])["status"] == ("QUEUED" if act is dead.retry else "CANCELLED")
            [event] = events(db, ids[0])
            assert event["data"]["by"] == "bpc_operator_login"  # type: ignore[index]  # jsonb
        else:
            assert (db.job(ids[0]), db.events(ids[0])) == (untouched[name], [])


async def test_many_pages_in_order(db: Database) -> None:
    ids = letters(db, 1201)

    async def work(op: Operator) -> tuple[list[str], list[str], list[int]]:
        choice = await dead.choose(op, type_="TEST_NOOP")
        down = [str(line.job_id) async for line in dead.lines(op, choice, limit=1100)]
        up = [str(row.job_id) async for row in dead.export(op, choice, limit=2000)]
        return down, up, [touched async for touched in dead.retry(op, choice)]

    down, up, pages = await as_operator(db, work)

    assert up == ids
    assert down == ids[::-1][:1100]
    assert pages == [500, 500, 201]
    assert kinds(db) == {("TEST_NOOP", "QUEUED"): 1201}


async def test_what_dies_again_meanwhile_is_left_alone(db: Database) -> None:
    """Otherwise a bulk retry of what cannot succeed would never end."""
    letters(db, 3)

    async def work(op: Operator) -> list[int]:
        choice = await dead.choose(op, type_="TEST_NOOP")
        pages = []
        async for touched in dead.retry(op, choice):
            pages.append(touched)
            letters(db, 3, age="0 seconds")
        return pages

    assert await as_operator(db, work) == [3]
    assert kinds(db) == {("TEST_NOOP", "QUEUED"): 3, ("TEST_NOOP", "DEAD_LETTER"): 3}


async def test_what_somebody_else_holds_is_passed_over_and_counted(db: Database) -> None:
    first, *_ = letters(db, 3)

    async def work(op: Operator) -> tuple[list[int], int]:
        choice = await dead.choose(op, type_="TEST_NOOP")
        pages = [touched async for touched in dead.retry(op, choice)]
        return pages, sum(kind.count for kind in await dead.count(op, choice))

    with db.connect() as held, held.transaction():
        held.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [first])
        assert await as_operator(db, work) == ([2], 1)
    assert await as_operator(db, work) == ([1], 0)


async def test_an_unknown_tenant_is_not_any_tenant(db: Database) -> None:
    letters(db)

    with pytest.raises(Permanent, match="no tenant 'acmee'"):
        await as_operator(db, lambda op: dead.choose(op, tenant="acmee"))


async def test_payloads_are_mended_by_the_many_and_those_without_the_place_are_named(db: Database) -> None:
    good, [bad] = letters(db, 3, payload='{"a": {"b": 1}}'), letters(db, payload='{"c": 1}')

    async def work(op: Operator) -> dict[str, bool]:
        choice = await dead.choose(op, type_="TEST_NOOP")
        patch = acts.Patch(("a", "b"), "2")
        return {str(job_id): error is None async for job_id, error in dead.patch_and_retry(op, choice, patch)}

    assert await as_operator(db, work) == {**dict.fromkeys(good, True), bad: False}
    assert [db.job(job_id)["payload"] for job_id in good] == [{"a": {"b": 2}}] * 3
    assert (db.job(bad)["status"], db.events(bad)) == ("DEAD_LETTER", [])


# --- looking ---


async def test_jobs_are_listed_by_everything_that_can_be_asked(db: Database) -> None:
    plain = db.enqueue("TEST_NOOP")
    odd = db.enqueue(
        "TEST_SLEEP", queue="slow", spec_hash=b"x" * 32, status="FAILED", fail_code="CHILD_DIED",
        created_at="2020-01-01",
    )  # fmt: skip
    [foreign] = letters(db, tenant="other")

    async def work(op: Operator) -> None:
        assert await listed(op) == sorted([plain, odd, foreign], reverse=True)
        assert await listed(op, statuses=["FAILED", "DEAD_LETTER"]) == sorted([odd, foreign], reverse=True)
        assert await listed(op, type="TEST_NOOP", tenant="acme") == [plain]
        for asked in (
            {"type": "TEST_SLEEP"}, {"queue": "slow"}, {"spec_hash": b"x" * 32}, {"code": "CHILD_DIED"},
            {"older_seconds": 86400.0}, {"statuses": ["FAILED"]},
        ):  # fmt: skip
            assert await listed(op, **asked) == [odd]
        assert await listed(op, newer_seconds=60.0) == [plain]

    await as_operator(db, work)


async def test_a_long_list_goes_on_where_it_ended(db: Database) -> None:
    db.run(
        "INSERT INTO jobs (tenant_id, type) SELECT %s, 'TEST_NOOP' FROM generate_series(1, 1203)",
        [db.tenant()],
    )
    everything = [str(row["job_id"]) for row in db.run("SELECT job_id FROM jobs ORDER BY job_id DESC")]

    async def work(op: Operator) -> list[str]:
        first = await listed(op, limit=1001)
        return first + await listed(op, limit=1001, after=UUID(first[-1]))

    assert await as_operator(db, work) == everything


async def test_the_story_of_a_job_has_its_events_and_relatives(db: Database) -> None:
    parent = db.enqueue("TEST_NOOP", '{"exact": 1.10}', status="SUCCEEDED")
    child = str(await as_operator(db, lambda op: acts.replay(op, UUID(parent))))

    told = await as_operator(db, lambda op: story(op, UUID(parent)))
    of_child = await as_operator(db, lambda op: story(op, UUID(child)))

    assert told.job.payload == '{"exact": 1.10}'
    assert [event.type for event in told.events] == ["job:replayed"]
    assert [str(each.job_id) for each in told.children] == [child]
    assert str(of_child.job.parent_job_id) == parent
    assert [reason.reason for reason in told.reasons] == ["succeeded"]


async def test_a_rate_limit_is_told_where_one_is_known(db: Database) -> None:
    """The seam for limits: whatever replaces the function is heard."""
    db.run(
        "CREATE OR REPLACE FUNCTION bpc_explain_limits(of_type text)"
        " RETURNS TABLE (message text, until timestamptz, remedy text) LANGUAGE sql STABLE"
        " AS $$ SELECT of_type || ': 10 a second', now(), 'wait' WHERE of_type = 'TEST_NOOP' $$"
    )
    limited, free = db.enqueue("TEST_NOOP"), db.enqueue("TEST_SLEEP")

    told = await as_operator(db, lambda op: explain(op, UUID(limited)), "bpc_reader")
    other = await as_operator(db, lambda op: explain(op, UUID(free)), "bpc_reader")

    assert [(each.reason, each.message) for each in told][-1] == ("rate_limited", "TEST_NOOP: 10 a second")
    assert [each.reason for each in other] == ["no_worker"]


async def test_waiting_ends_when_all_have_ended_or_time_is_over(db: Database) -> None:
    done, open_one = db.enqueue("TEST_NOOP", status="SUCCEEDED"), db.enqueue("TEST_NOOP")
    ended: list[str] = []

    left = await as_operator(
        db,
        lambda op: wait_for_jobs(
            op, [UUID(done), UUID(open_one)], seconds=0, ended=lambda state: ended.append(str(state.job_id))
        ),
    )

    assert (ended, [str(state.job_id) for state in left]) == ([done], [open_one])


async def test_the_tail_misses_nothing_and_repeats_nothing(db: Database) -> None:
    """An event gets its number before its transaction ends: a slow one appears behind later ones."""
    first, second, third = (db.enqueue("TEST_NOOP") for _ in range(3))
    add = "INSERT INTO job_events (job_id, type) VALUES (%s, 'job:test')"
    db.run(add, [first])

    async def work(op: Operator) -> list[str]:
        seen: list[str] = []
        events_seen = watch.tail(op, lines=10, every=0.01)
        with db.connect() as slow, slow.transaction():
            slow.execute(add.encode(), [second])
            db.run(add, [third])
            seen += [str((await anext(events_seen)).job_id) for _ in range(2)]
        seen.append(str((await anext(events_seen)).job_id))
        with pytest.raises(TimeoutError):  # nothing more, and nothing twice
            async with asyncio.timeout(0.2):
                await anext(events_seen)
        return seen

    assert await as_operator(db, work, "bpc_reader") == [first, third, second]


async def test_pauses_say_who_and_why_and_leave_a_trace(db: Database) -> None:
    tenant_id = db.tenant()

    async def work(op: Operator) -> list[pauses.Paused]:
        await pauses.pause(op, PauseKind.TENANT, "acme", "asked for it", None)
        await pauses.pause(op, PauseKind.TYPE, "TEST_NOOP", "broken", 7200)
        found = await pauses.pauses(op)
        await pauses.resume(op, PauseKind.TENANT, tenant_id)
        with pytest.raises(Permanent, match="is not paused"):
            await pauses.resume(op, PauseKind.QUEUE, "default")
        return found

    by_tenant, by_type = await as_operator(db, work)

    assert (by_tenant.name, by_tenant.tenant, by_tenant.reason) == (tenant_id, "acme", "asked for it")
    assert (by_tenant.paused_by, by_tenant.expires_at) == ("bpc_operator_login", None)
    assert by_type.expires_at is not None
    assert (by_type.expires_at - by_type.paused_at).total_seconds() == pytest.approx(7200, abs=5)
    trace = db.run("SELECT action, kind, by FROM job_pause_events ORDER BY job_pause_event_id")
    assert [(row["action"], row["kind"]) for row in trace] == [
        ("paused", "tenant"), ("paused", "type"), ("resumed", "tenant"),
    ]  # fmt: skip
    assert {row["by"] for row in trace} == {"bpc_operator_login"}


@pytest.mark.parametrize(
    ("factors", "late"),
    [
        ({}, {"TEST_A", "TEST_B"}),
        ({"BPC_REAPER_SLA_FACTOR": "20"}, set()),
        ({"BPC_REAPER_SLA_FACTOR": '{"TEST_B": 20}'}, {"TEST_A"}),
        ({"BPC_REAPER_SLA_FACTOR": '{"*": 20, "TEST_B": 2}'}, {"TEST_B"}),
    ],
)
async def test_overdue_is_what_the_settings_say(
    db: Database, factors: dict[str, str], late: set[str]
) -> None:
    """They have run for ten times as long as expected, but for the one that nobody expects anything of."""
    jobs = {name: db.enqueue(name, expected_duration_ms=60_000) for name in ("TEST_A", "TEST_B")}
    jobs["TEST_C"] = db.enqueue("TEST_C")
    db.run(
        "UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'x',"
        " lease_token = gen_random_uuid(), started_at = now() - interval '10 minutes',"
        " lease_expires_at = now() + interval '1 hour'"
    )

    async def look(op: Operator) -> tuple[set[str], set[str]]:
        running = (await watch.picture(op)).running
        stories = {name: await story(op, UUID(job_id)) for name, job_id in jobs.items()}
        shown = {
            name for name, told in stories.items() if "overdue" in {each.reason for each in told.reasons}
        }
        return {each.type for each in running if each.overdue}, shown

    assert await as_operator(db, look, "bpc_reader", **factors) == (late, late)
