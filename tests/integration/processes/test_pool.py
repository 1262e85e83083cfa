"""Real child processes: what they know, how they end, what that costs."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bpc_worker.jobs.errors import JobError, Permanent, Retryable
from bpc_worker.processes.pool import ChildLimits
from tests.support.child_tasks import Ask
from tests.support.children import ANOTHER, alive, children_of
from tests.support.children import AskedChildren as Children


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    pool = Children(ChildLimits(processes=1, memory_mb=1024, cpu_seconds=2))
    yield pool
    await pool.close()


async def test_a_child_answers_and_is_used_again(children: Children) -> None:
    first = await children.ask(Ask("double", 21))
    second = await children.ask(Ask("double", 4))

    assert (first.number, second.number) == (42, 8)
    assert first.pid == second.pid != os.getpid()


async def test_a_child_knows_no_secret_and_has_no_descriptor_of_ours(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BPC_DATABASE_URL", "postgresql://u:hunter2@h/d")
    with Path(__file__).open() as file:
        os.set_inheritable(file.fileno(), True)
        said = await children.ask(Ask("double"))

        assert "hunter2" not in str(said.environment)
        assert set(said.environment) <= {"LANG", "PATH", "LC_CTYPE"}
        assert __file__ not in said.descriptors.values()
        assert [where.partition(":")[0] for where in said.descriptors.values()][:5] == [
            *["/dev/null"] * 3, "pipe", "pipe",
        ]  # fmt: skip
        assert len(said.descriptors) <= 6, "and the folder that lists them"


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("die", "CHILD_DIED", "SIGKILL"),
        ("exit", "CHILD_DIED", "exit code 7"),
        ("burn", "CHILD_DIED", "signal"),
        ("eat", "CHILD_DIED", "memory"),
        ("bug", "INTERNAL_ERROR", "ZeroDivisionError"),
    ],
)
async def test_a_child_that_ends_badly_is_retryable_and_replaced(
    children: Children, what: str, code: str, said: str
) -> None:
    with pytest.raises(Retryable, match=said) as caught:
        await children.ask(Ask(what))

    assert caught.value.code == code
    assert (await children.ask(Ask("double", 1))).number == 2


async def test_a_childs_own_error_keeps_code_family_and_detail(children: Children) -> None:
    with pytest.raises(Permanent) as caught:
        await children.ask(Ask("refuse"))

    error: JobError = caught.value
    assert (error.code, error.message, error.detail) == ("UNIT_MISMATCH", "kg is not kWh", {"line": 3})


async def test_a_cancelled_call_kills_its_child(children: Children) -> None:
    pid = (await children.ask(Ask("double"))).pid
    call = asyncio.create_task(children.ask(Ask("hang")))
    await asyncio.sleep(0)
    while children.idle:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    descriptor_gone = await children.ask(Ask("double"))

    assert descriptor_gone.pid != pid
    assert not alive(pid)


async def test_a_cancelled_call_that_waits_for_a_child_costs_nobody_anything(children: Children) -> None:
    pid = (await children.ask(Ask("double"))).pid
    working = asyncio.create_task(children.ask(Ask("double", 3)))
    waiting = asyncio.create_task(children.ask(Ask("double", 4)))
    await asyncio.sleep(0)  # both have begun; there is one child
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert (await working).number == 6
    assert (await children.ask(Ask("double"))).pid == pid


async def test_a_call_cancelled_while_its_child_starts_leaves_none(children: Children) -> None:
    before = children_of(os.getpid())
    call = asyncio.create_task(children.ask(Ask("hang")))
    while children_of(os.getpid()) == before:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert children_of(os.getpid()) == before, "not even a zygote"
    assert (await children.ask(Ask("double", 1))).number == 2


async def test_a_call_cancelled_while_its_child_is_forked_leaves_none(children: Children) -> None:
    zygote = (await children.ask(Ask("double"))).zygote
    call = asyncio.create_task(children.ask(Ask("hang"), tenant_id=ANOTHER))
    while len(children_of(zygote)) < 2:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert len(children_of(zygote)) == 1


async def test_no_more_children_than_allowed_and_the_last_used_first() -> None:
    pool = Children(ChildLimits(processes=2))
    try:
        said = await asyncio.gather(*(pool.ask(Ask("double", number)) for number in range(20)))
        later = [(await pool.ask(Ask("double"))).pid for _ in range(5)]
    finally:
        await pool.close()

    assert [each.number for each in said] == [number * 2 for number in range(20)]
    assert len({each.pid for each in said}) == 2
    assert len(set(later)) == 1, "one is enough for one call at a time: the other's memory may rest"


async def test_many_short_calls_are_max_useful_jobs_and_few_of_unknown_length(children: Children) -> None:
    at_first = children.max_useful_jobs
    for number in range(50):
        await children.ask(Ask("double", number))
    after_short = children.max_useful_jobs
    with pytest.raises(Retryable):
        await children.ask(Ask("burn"))  # two seconds, until its limit

    assert at_first == 2, "one in work, the next at hand"
    assert after_short > 4
    assert children.max_useful_jobs == at_first


async def test_a_child_goes_behind_the_worker(children: Children) -> None:
    said = await children.ask(Ask("double"))

    assert said.nice == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)


async def test_a_child_leaves_no_core_and_lets_nobody_look(children: Children) -> None:
    said = await children.ask(Ask("double"))

    assert said.dumpable == 0
    assert said.core_bytes in {0, 1}


async def test_a_child_that_has_grown_answers_and_is_replaced(children: Children) -> None:
    small = [await children.ask(Ask("leak", 1_000_000)) for _ in range(3)]
    grown = await children.ask(Ask("leak", 600_000_000))
    after = await children.ask(Ask("leak", 600_000_000))

    assert {said.pid for said in small} == {grown.pid}
    assert (grown.number, after.number) == (1_200_000_000, 1_200_000_000), "two together are too much for one"
    assert after.pid != grown.pid
    assert not alive(grown.pid)


async def test_a_child_that_died_while_idle_is_not_asked(children: Children) -> None:
    pid = (await children.ask(Ask("double"))).pid
    os.kill(pid, signal.SIGKILL)
    [idle] = children.idle
    await idle.ended

    assert (await children.ask(Ask("double", 1))).number == 2


async def test_closing_leaves_no_child(children: Children) -> None:
    pid = (await children.ask(Ask("double"))).pid
    await children.close()

    assert not alive(pid)
