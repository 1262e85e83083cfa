"""The workbench of handler authors: real boundary, real context, and a queue in memory."""

import asyncio
from uuid import UUID

import pytest

from bpc_worker.handler_api import (
    Answer,
    Context,
    HandlerSpec,
    LeaseLost,
    Measure,
    NewJob,
    Payload,
    Permanent,
    Priority,
    Retryable,
    Snooze,
    Tally,
    Tx,
)
from bpc_worker.testing import FakeTx, Posted, Receiver, Unanswered, Workbench, a_job, an_id, drain
from handlers import compile_passport, run_command
from tests.support.child_tasks import WORK, Ask


class Numbered(Payload, frozen=True):
    number: int = 0


def spec(handle: object, job_type: str = "TEST_NOOP", **more: object) -> HandlerSpec[Numbered]:
    return HandlerSpec(job_type=job_type, payload=Numbered, handle=handle, **more)  # type: ignore[arg-type]  # of the test


def test_two_handlers_for_one_type_are_refused() -> None:
    async def handle(_: Numbered, __: Context) -> None: ...

    with pytest.raises(ValueError, match="two handlers"):
        Workbench(handlers=[spec(handle), spec(handle)])


async def test_what_a_handler_returns_is_the_result() -> None:
    async def handle(payload: Numbered, _: Context) -> dict[str, int]:
        return {"twice": payload.number * 2}

    job = (await drain(spec(handle), a_job(payload={"number": 21}))).only

    assert (job.status, job.result, job.attempts, job.events) == ("SUCCEEDED", {"twice": 42}, 1, ())
    assert job.payload == {"number": 21}


@pytest.mark.parametrize(
    ("raised", "status", "attempts", "code"),
    [
        (Permanent("NOT_FOUND", "no such part"), "FAILED", 1, "NOT_FOUND"),
        (Retryable("WEBHOOK_FAILED", "503"), "DEAD_LETTER", 5, "WEBHOOK_FAILED"),
        (Snooze(10, "RATE_LIMITED", "later"), "DEAD_LETTER", 1, "RATE_LIMITED"),
        (ZeroDivisionError("a bug"), "DEAD_LETTER", 5, "INTERNAL_ERROR"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_errors_end_as_in_the_worker(raised: Exception, status: str, attempts: int, code: str) -> None:
    async def handle(_: Numbered, __: Context) -> None:
        raise raised

    job = (await drain(spec(handle), a_job())).only

    assert (job.status, job.attempts, job.code) == (status, attempts, code)


async def test_what_a_handler_measures_and_counts_is_kept() -> None:
    async def handle(payload: Numbered, ctx: Context) -> None:
        ctx.observe(Measure.PAYLOAD_BYTES, payload.number)
        ctx.count(Tally.COMPILES, "ok")

    bench = Workbench(handlers=spec(handle))
    await bench.enqueue(a_job(payload={"number": 21}))
    await bench.drain()

    assert bench.measured.values == [(Measure.PAYLOAD_BYTES, 21)]
    assert bench.measured.counts == [(Tally.COMPILES, "ok")]


async def test_a_compilation_that_can_never_work_is_counted_by_its_code() -> None:
    bench = Workbench(handlers=compile_passport.SPEC, answers={"passports/read": []})
    unknown = str(an_id(1))
    ids = ("passport_id", "snapshot_id", "rule_package_version_id")
    payload = dict.fromkeys(ids, unknown) | {"law_date": "2027-02-18"}
    await bench.enqueue(a_job("COMPILE_PASSPORT", payload=payload))
    job = (await bench.drain()).only

    assert (job.status, job.code) == ("FAILED", "NOT_FOUND")
    assert bench.measured.counts == [(Tally.COMPILES, "NOT_FOUND")]


async def test_retries_wait_by_the_clock_of_the_bench() -> None:
    tried: list[int] = []

    async def handle(_: Numbered, ctx: Context) -> None:
        tried.append(ctx.job.attempt)
        if ctx.job.attempt < 3:
            raise Retryable("WEBHOOK_FAILED", "503")

    bench = Workbench(handlers=spec(handle))
    started = bench.clock.now
    await bench.enqueue(a_job(delay_seconds=100))
    job = (await bench.drain()).only

    assert (job.status, tried) == ("SUCCEEDED", [1, 2, 3])
    assert (bench.clock.now - started).total_seconds() == 100 + 2 + 4


async def test_writes_are_kept_when_the_job_completes() -> None:
    async def handle(payload: Numbered, ctx: Context) -> None:
        async def write(tx: Tx) -> None:
            rows = await tx.query("parts/add", {"number": payload.number})
            await tx.execute("INSERT INTO  log\n VALUES (%(id)s)", {"id": rows[0]["part_id"]})

        await ctx.complete(write, result={"ok": True})

    answers = {"parts/add": lambda params: [{"part_id": params["number"]}]}
    job = (await drain(spec(handle), a_job(payload={"number": 7}), answers=answers)).only

    assert (job.status, job.result) == ("SUCCEEDED", {"ok": True})
    assert [*job.wrote] == [("parts/add", {"number": 7}), ("INSERT INTO log VALUES (%(id)s)", {"id": 7})]


async def test_nothing_is_kept_of_a_completion_that_failed() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        async def write(tx: Tx) -> None:
            await tx.query("parts/add", {})
            await tx.enqueue(NewJob(type="TEST_NEXT"))
            raise Permanent("NOT_FOUND", "gone meanwhile")

        await ctx.complete(write)

    drained = await drain(spec(handle), a_job())

    assert (drained.only.status, drained.only.wrote) == ("FAILED", ())


async def test_a_rejection_keeps_its_rows_and_fails() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        async def write(tx: Tx) -> None:
            await tx.query("documents/judge", {"status": "REJECTED"})

        await ctx.reject(write, Permanent("VALIDATION_ERROR", "no such column"))

    job = (await drain(spec(handle), a_job())).only

    assert (job.status, job.code) == ("FAILED", "VALIDATION_ERROR")
    assert [*job.wrote] == [("documents/judge", {"status": "REJECTED"})]


async def test_follow_ups_are_run_too_and_strangers_left_waiting() -> None:
    async def first(payload: Numbered, ctx: Context) -> None:
        async def write(tx: Tx) -> None:
            await tx.enqueue(NewJob(type="TEST_NEXT", payload={"number": payload.number + 1}))
            await tx.enqueue(NewJob(type="SOMEBODY_ELSES", idempotency_key="k"))

        await ctx.complete(write)

    async def second(payload: Numbered, ctx: Context) -> dict[str, object]:
        return {"number": payload.number, "correlation_id": ctx.job.correlation_id}

    handlers = [spec(first), spec(second, "TEST_NEXT", priority=Priority.HIGH)]
    drained = await drain(handlers, a_job(payload={"number": 1}, correlation_id="c-1"))
    [origin], [follow_up] = drained.of("TEST_NOOP"), drained.of("TEST_NEXT")

    assert follow_up.result == {"number": 2, "correlation_id": "c-1"}
    assert follow_up.parent_job_id == origin.job_id
    assert [job.type for job in drained.waiting] == ["SOMEBODY_ELSES"]


async def test_a_transaction_that_met_another_is_run_again() -> None:
    outside: list[int] = []

    async def handle(_: Numbered, ctx: Context) -> None:
        async def write(tx: Tx) -> None:
            outside.append(1)
            await tx.enqueue(NewJob(type="TEST_NEXT"))

        await ctx.complete(write)

    bench = Workbench(handlers=spec(handle), conflicts=1)
    await bench.enqueue(a_job())
    drained = await bench.drain()

    assert len(outside) == 2
    assert len(drained.waiting) == 1


async def test_a_read_without_an_answer_says_what_to_add() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        async with ctx.reading() as reading:
            await reading.execute("SELECT mass\nFROM parts")

    with pytest.raises(Unanswered, match=r"answers=\{'SELECT mass FROM parts'"):
        await drain(spec(handle), a_job())


async def test_child_tasks_are_told_in_bytes() -> None:
    async def handle(payload: Numbered, ctx: Context) -> int:
        return (await ctx.child(WORK, Ask(do="double", number=payload.number))).number

    job = (await drain(spec(handle, child_tasks=(WORK,)), a_job(payload={"number": 4}))).only

    assert job.result == 8


async def test_an_error_of_a_child_task_is_the_handlers() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        await ctx.child(WORK, Ask(do="refuse"))

    job = (await drain(spec(handle, child_tasks=(WORK,)), a_job())).only

    assert (job.status, job.code, job.message) == ("FAILED", "UNIT_MISMATCH", "kg is not kWh")


async def test_a_handler_that_does_not_end_is_timed_out() -> None:
    async def handle(_: Numbered, __: Context) -> None:
        await asyncio.Event().wait()

    job = (await drain(spec(handle, timeout_seconds=0.001, max_attempts=2), a_job())).only

    assert (job.status, job.code, job.attempts) == ("DEAD_LETTER", "HANDLER_TIMEOUT", 2)


async def test_a_handler_that_cancels_itself_is_tried_again() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        if ctx.job.attempt == 1:
            raise asyncio.CancelledError

    job = (await drain(spec(handle), a_job())).only

    assert (job.status, job.attempts, job.code) == ("SUCCEEDED", 2, "INTERNAL_ERROR")


async def test_a_lost_lease_is_reaped_and_the_job_run_again() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        if ctx.job.attempt == 1:
            raise LeaseLost("somebody else's")

    job = (await drain(spec(handle), a_job())).only

    assert (job.status, job.attempts, job.events) == ("SUCCEEDED", 2, ("reaper:requeued",))


async def test_a_job_cancelled_meanwhile_is_not_tried_again() -> None:
    bench = Workbench(handlers=())

    async def handle(_: Numbered, ctx: Context) -> None:
        await bench.store.cancel(ctx.job.job_id)
        raise Retryable("WEBHOOK_FAILED", "503")

    bench = Workbench(handlers=spec(handle))
    await bench.enqueue(a_job())

    assert (await bench.drain()).only.status == "CANCELLED"


async def test_jobs_that_go_on_for_ever_are_noticed() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        async def write(tx: Tx) -> None:
            await tx.enqueue(NewJob(type="TEST_NOOP"))

        await ctx.complete(write)

    bench = Workbench(handlers=spec(handle))
    await bench.enqueue(a_job())
    with pytest.raises(RuntimeError, match="not done after 20 attempts"):
        await bench.drain(at_most=20)


async def test_the_bench_signs_with_the_development_key() -> None:
    async def handle(_: Numbered, ctx: Context) -> str:
        assert len(ctx.disclosure_seed(UUID(int=1))) == 32
        return ctx.signer.key_id

    assert (await drain(spec(handle), a_job())).only.result == "development"


async def test_a_result_that_cannot_be_stored_is_refused_as_in_the_worker() -> None:
    async def handle(_: Numbered, __: Context) -> str:
        return "a\x00b"

    job = (await drain(spec(handle), a_job())).only

    assert (job.status, job.code) == ("FAILED", "VALIDATION_ERROR")
    assert str(job.message).startswith("the result cannot be stored")


async def test_a_transaction_alone_remembers_what_was_asked() -> None:
    tx = FakeTx({"parts/find": [{"part_id": 1}]})

    assert await tx.query("parts/find", {"name": "a"}) == [{"part_id": 1}]
    assert await tx.execute("DELETE  FROM parts") == []
    assert await tx.enqueue(NewJob(type="TEST_NEXT"))
    assert (tx.names, tx.params("parts/find")) == (["parts/find", "DELETE FROM parts"], {"name": "a"})
    assert [job.type for job in tx.queued] == ["TEST_NEXT"]


async def test_a_registry_of_the_workers_own_handlers_will_do() -> None:
    drained = await drain({"RUN_COMMAND": run_command.SPEC}, a_job("RUN_COMMAND", payload={"command": "rm"}))

    assert (drained.only.status, drained.only.code) == ("FAILED", "FORBIDDEN")


async def test_what_is_posted_is_kept_and_answered_as_the_test_says() -> None:
    async def handle(payload: Numbered, ctx: Context) -> int:
        answer = await ctx.post("https://hooks.example/", headers={"X-Number": "1"}, body=b"{}")
        return answer.status + payload.number

    receiver = Receiver(lambda _: Answer(201, body=b"thanks"))
    bench = Workbench(handlers=spec(handle), egress=receiver)
    await bench.enqueue(a_job(payload={"number": 1}))
    job = (await bench.drain()).only

    assert (job.status, job.result) == ("SUCCEEDED", 202)
    assert receiver.posted == [Posted("https://hooks.example/", {"X-Number": "1"}, b"{}")]


async def test_a_receiver_may_be_blocked() -> None:
    async def handle(_: Numbered, ctx: Context) -> None:
        await ctx.post("https://hooks.example/", headers={}, body=b"")

    def block(_: Posted) -> Answer:
        raise Permanent("WEBHOOK_BLOCKED", "private")

    bench = Workbench(handlers=spec(handle), egress=Receiver(block))
    await bench.enqueue(a_job())
    job = (await bench.drain()).only

    assert (job.status, job.code, job.attempts) == ("FAILED", "WEBHOOK_BLOCKED", 1)
