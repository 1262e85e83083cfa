"""Handlers that misbehave on purpose, found by entry point like any third party's."""

import asyncio
import os
import signal
import time
from contextlib import suppress

from bpc_worker.handler_api import (
    Context,
    HandlerSpec,
    NewJob,
    Payload,
    Permanent,
    Retryable,
    Snooze,
    Tx,
)


class Nothing(Payload, frozen=True):
    pass


class Sleep(Payload, frozen=True):
    seconds: float = 0.0


class Steps(Payload, frozen=True):
    """Tells how far it is, step by step."""

    seconds: float = 0.0
    steps: int = 5


class Effect(Payload, frozen=True):
    """Sleeps, then writes one row into test_effects in the completing transaction."""

    key: str
    seconds: float = 0.0


class Block(Payload, frozen=True):
    how: str = "spin"  # or "sleep"
    seconds: float = 90.0


class Fail(Payload, frozen=True):
    """Fails until attempt `until`; family is retryable, permanent, bug or snooze."""

    until: int = 1_000_000
    family: str = "retryable"
    code: str = "COMMAND_FAILED"
    seconds: float = 0.0


class Anything(Payload, frozen=True):
    value: object = None


class Refused(Payload, frozen=True):
    """Where a text stands that PostgreSQL does not store: the result, the completion or the progress."""

    where: str = "result"
    seconds: float = 0.0


class Begin(Payload, frozen=True):
    """Its first line writes the job's id into this file, which outlives the process."""

    path: str
    seconds: float = 0.0


class Call(Payload, frozen=True):
    port: int


class Follow(Payload, frozen=True):
    depth: int


async def noop(_: Nothing, __: Context) -> object:
    return {"started_ns": time.monotonic_ns()}


async def steps(payload: Steps, ctx: Context) -> object:
    for number in range(payload.steps):
        ctx.stage("stepping", percent=100 * number // payload.steps)
        await asyncio.sleep(payload.seconds)
    return {"steps": payload.steps}


async def sleep(payload: Sleep, ctx: Context) -> object:
    started_ns = time.monotonic_ns()
    ctx.stage("sleeping", seconds=payload.seconds)
    await asyncio.sleep(payload.seconds)
    return {"slept": True, "started_ns": started_ns}


async def effect(payload: Effect, ctx: Context) -> None:
    await asyncio.sleep(payload.seconds)

    async def write(tx: Tx) -> None:
        await tx.execute(
            "INSERT INTO test_effects (job_id, key, attempt, pid) VALUES"
            " (%(job_id)s, %(key)s, %(attempt)s, %(pid)s)",
            {
                "job_id": ctx.job.job_id,
                "key": payload.key,
                "attempt": ctx.job.attempt,
                "pid": os.getpid(),
            },
        )

    await ctx.complete(write, result={"pid": os.getpid()})


async def read(payload: Sleep, ctx: Context) -> object:
    await asyncio.sleep(payload.seconds)
    async with ctx.reading() as reading:
        rows = await reading.execute("SELECT count(*) AS n FROM test_effects")
    return {"rows": rows[0]["n"]}


async def block(payload: Block, _: Context) -> object:
    if payload.how == "sleep":
        time.sleep(payload.seconds)  # noqa: ASYNC251 - on purpose
    else:
        ends_at = time.monotonic() + payload.seconds
        while time.monotonic() < ends_at:
            pass
    return {"blocked": payload.how}


async def fail(payload: Fail, ctx: Context) -> object:
    if ctx.job.attempt >= payload.until:
        return {"attempt": ctx.job.attempt}
    match payload.family:
        case "permanent":
            raise Permanent(payload.code, "never works")
        case "bug":
            raise ZeroDivisionError("a bug")
        case "snooze":
            raise Snooze(payload.seconds, payload.code, "not now")
        case _:
            raise Retryable(payload.code, "might work later")


async def begin(payload: Begin, ctx: Context) -> object:
    file = os.open(payload.path, os.O_WRONLY | os.O_APPEND)
    os.write(file, f"{ctx.job.job_id}\n".encode())
    os.close(file)
    await asyncio.sleep(payload.seconds)
    return None


async def call(payload: Call, ctx: Context) -> object:
    """Calls a receiver on this machine, behind the breaker of its host."""
    with ctx.breaker("127.0.0.1", code="WEBHOOK_FAILED"):
        reader, writer = await asyncio.open_connection("127.0.0.1", payload.port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = int((await reader.readline()).split()[1])
        writer.close()
        if answer == 410:
            raise Permanent("WEBHOOK_GONE", "it answered 410")
        if answer != 200:
            raise Retryable("WEBHOOK_FAILED", f"it answered {answer}")
    return {"answer": answer}


async def follow(payload: Follow, ctx: Context) -> None:
    async def write(tx: Tx) -> None:
        if payload.depth > 0:
            await tx.enqueue(NewJob(type="TEST_FOLLOW", payload={"depth": payload.depth - 1}))

    await ctx.complete(write, result={"depth": payload.depth})


async def kill(_: Nothing, __: Context) -> object:
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(60)
    return None


async def anything(payload: Anything, _: Context) -> object:
    return {"kind": type(payload.value).__name__}


async def late(payload: Sleep, ctx: Context) -> None:
    """Does not let itself be stopped before it has completed."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(payload.seconds)
    await ctx.complete(result={"late": True})


async def refused(payload: Refused, ctx: Context) -> object:
    text = {"text": "a\x00b"}
    if payload.where == "progress":
        ctx.stage("refused", **text)
    await asyncio.sleep(payload.seconds)
    if payload.where == "complete":
        await ctx.complete(result=text)
    return text if payload.where == "result" else None


async def stubborn(payload: Sleep, _: Context) -> object:
    """Ignores every cancellation."""
    ends_at = time.monotonic() + payload.seconds
    while time.monotonic() < ends_at:
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            continue
    return None


ANY = HandlerSpec(job_type="TEST_ANY", payload=Anything, handle=anything)
BEGIN = HandlerSpec(job_type="TEST_BEGIN", payload=Begin, handle=begin)
BLOCK = HandlerSpec(job_type="TEST_BLOCK", payload=Block, handle=block)
CALL = HandlerSpec(job_type="TEST_CALL", payload=Call, handle=call)
EFFECT = HandlerSpec(job_type="TEST_EFFECT", payload=Effect, handle=effect)
FAIL = HandlerSpec(job_type="TEST_FAIL", payload=Fail, handle=fail)
FOLLOW = HandlerSpec(job_type="TEST_FOLLOW", payload=Follow, handle=follow)
KILL = HandlerSpec(job_type="TEST_KILL", payload=Nothing, handle=kill)
LATE = HandlerSpec(job_type="TEST_LATE", payload=Sleep, handle=late)
NOOP = HandlerSpec(job_type="TEST_NOOP", payload=Nothing, handle=noop)
OUTSIDE = HandlerSpec(job_type="TEST_OUTSIDE", payload=Sleep, handle=sleep, waits_outside=True)
READ = HandlerSpec(job_type="TEST_READ", payload=Sleep, handle=read)
REFUSED = HandlerSpec(job_type="TEST_REFUSED", payload=Refused, handle=refused)
SLEEP = HandlerSpec(job_type="TEST_SLEEP", payload=Sleep, handle=sleep)
STEPS = HandlerSpec(job_type="TEST_STEPS", payload=Steps, handle=steps)
STUBBORN = HandlerSpec(job_type="TEST_STUBBORN", payload=Sleep, handle=stubborn, timeout_seconds=2)
