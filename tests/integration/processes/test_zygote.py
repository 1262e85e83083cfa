"""A real zygote: who shares a child with whom, what it knows, and what its end costs."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from bpc_worker.handler_api import TenantId
from bpc_worker.jobs.errors import Code, Retryable
from bpc_worker.processes import zygote as zygotes
from bpc_worker.processes.pool import ChildLimits
from tests.support.child_tasks import OTHER_WORK, WORK, Ask
from tests.support.children import ANOTHER, TENANT, AskedChildren, alive, children_of
from tests.support.waiting import until


@pytest.fixture
async def children() -> AsyncIterator[AskedChildren]:
    pool = AskedChildren(ChildLimits(processes=2, idle_seconds=600), [WORK])
    yield pool
    await pool.close()


async def busy(children: AskedChildren, zygote: int, count: int) -> list["asyncio.Task[object]"]:
    """So many calls that hang, each in its child by now."""
    calls: list[asyncio.Task[object]] = [
        asyncio.create_task(children.ask(Ask("hang"), tenant_id=TenantId(UUID(int=100 + number))))
        for number in range(count)
    ]
    before = len(children_of(zygote))
    while len(children_of(zygote)) < before + count:
        await asyncio.sleep(0.001)
    return calls


async def test_two_tenants_two_tasks_and_two_types_of_jobs_never_share_a_child(
    children: AskedChildren,
) -> None:
    """Parse, compile and sign are types of jobs with a task each; even a task in common would not do."""

    async def pids() -> list[int]:
        said = [
            await children.ask(Ask("double")),
            await children.ask(Ask("double"), tenant_id=ANOTHER),
            await children.ask(Ask("double"), task=OTHER_WORK),
            await children.ask(Ask("double"), job_type="TEST_OTHER"),
        ]
        assert len({each.zygote for each in said}) == 1
        return [each.pid for each in said]

    first, again = await pids(), await pids()
    assert len(set(first)) == 4
    assert first == again, "each has its own, and keeps it for the next call"


async def test_a_childs_turn_ends_when_others_need_its_room() -> None:
    children = AskedChildren(ChildLimits(processes=1, idle_seconds=600))
    try:
        tenants = [TenantId(UUID(int=number)) for number in range(10, 18)]
        first, *others = [(await children.ask(Ask("double"), tenant_id=tenant)).pid for tenant in tenants]
        again = (await children.ask(Ask("double"), tenant_id=tenants[-1])).pid

        assert again == others[-1]
        assert len(children.idle) == 7, "for each that may work"
        until(lambda: not alive(first), within=10, what="the end of the one that waited longest")
        assert all(map(alive, others))
    finally:
        await children.close()


async def test_a_childs_turn_ends_when_it_has_nothing_to_do() -> None:
    children = AskedChildren(ChildLimits(processes=1, idle_seconds=0.05))
    try:
        said = await children.ask(Ask("double"))
        [idle] = children.idle
        await asyncio.wait_for(idle.ended, 10)
        new = await children.ask(Ask("double"))
    finally:
        await children.close()

    assert not alive(said.pid)
    assert new.pid != said.pid
    assert new.zygote == said.zygote


async def test_a_killed_zygote_costs_those_in_its_children_one_retry_and_nobody_else(
    children: AskedChildren,
) -> None:
    said = await children.ask(Ask("double"))
    calls = await busy(children, said.zygote, 2)
    waiting = asyncio.create_task(children.ask(Ask("double", 21)))
    below = children_of(said.zygote)
    await asyncio.sleep(0)  # it has begun to wait: both places are taken
    os.kill(said.zygote, signal.SIGKILL)
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert [(type(end), getattr(end, "code", None)) for end in ends] == [(Retryable, Code.CHILD_DIED)] * 2
    assert {str(end) for end in ends} == {"CHILD_DIED: the child process ended (with its zygote)"}
    after = await waiting
    assert after.number == 42
    assert after.zygote != said.zygote
    assert len(below) == 3
    until(lambda: not any(map(alive, below)), within=10, what="the end of all its children")
    assert (await children.ask(Ask("double"))).zygote == after.zygote, "one is enough"


async def test_a_zygote_that_is_stopped_is_given_up(
    children: AskedChildren, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygotes, "_PATIENCE", 0.2)
    said = await children.ask(Ask("double"))
    [call] = await busy(children, said.zygote, 1)
    os.kill(said.zygote, signal.SIGSTOP)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert (await children.ask(Ask("double"))).zygote != said.zygote
    assert not alive(said.zygote)


async def test_what_a_child_leaves_behind_is_ended_with_it(children: AskedChildren) -> None:
    left = (await children.ask(Ask("leave"))).number // 2
    assert alive(left)
    with pytest.raises(Retryable):
        await children.ask(Ask("die"))

    until(lambda: not alive(left), within=10, what="the end of a process in a session of its own")


async def test_a_signal_without_a_name_does_not_cost_the_zygote(children: AskedChildren) -> None:
    before = await children.ask(Ask("double"))
    with pytest.raises(Retryable, match="signal 40"):
        await children.ask(Ask("signal", 40))

    assert (await children.ask(Ask("double"))).zygote == before.zygote


async def test_what_a_task_warms_up_is_made_once_and_dice_are_not_shared(children: AskedChildren) -> None:
    said = [await children.ask(Ask("double"), tenant_id=tenant) for tenant in (TENANT, ANOTHER)]

    assert {each.warmed_up_in for each in said} == {said[0].zygote}
    assert len({each.random for each in said}) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody but root may look")
async def test_a_zygote_has_nothing_of_ours(children: AskedChildren, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPC_DATABASE_URL", "postgresql://u:hunter2@h/d")
    told, descriptors = seen_of((await children.ask(Ask("double"))).zygote)

    assert b"bpc_worker.child" in told
    assert b"hunter2" not in told
    assert descriptors == ["/dev/null"] * 3 + ["pipe"] * 2 + ["socket"], "orders, and a bell for ends"


def seen_of(pid: int) -> tuple[bytes, list[str]]:
    proc = Path(f"/proc/{pid}")
    links = sorted(str(link.readlink()).partition(":")[0] for link in (proc / "fd").iterdir())
    return (proc / "environ").read_bytes() + (proc / "cmdline").read_bytes(), links


@pytest.mark.parametrize("task", ["tests.support.nowhere:TASK", "tests.support.child_tasks:nowhere"])
async def test_a_task_that_cannot_be_imported_costs_only_those_who_ask_for_it(task: str) -> None:
    children = AskedChildren(ChildLimits(processes=1), [WORK])
    children._tasks = (task, *children._tasks)
    try:
        assert (await children.ask(Ask("double", 2))).number == 4
    finally:
        await children.close()


async def test_a_zygote_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    children = AskedChildren(ChildLimits(processes=1))
    with pytest.raises(Retryable, match=r"no children: their zygote ended \(exit code 1\)") as caught:
        await children.ask(Ask("double"))
    await children.close()

    assert caught.value.code == Code.CHILD_DIED


async def test_on_another_system_children_are_refused_and_not_started_unconfined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = AskedChildren(ChildLimits(processes=1))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Retryable, match="on Linux only, and this is darwin"):
        await children.ask(Ask("double"))
    await children.close()


WORKER = """
import asyncio, os
from bpc_worker.processes.pool import ChildLimits
from tests.support.child_tasks import Ask
from tests.support.children import AskedChildren

async def main():
    children = AskedChildren(ChildLimits(processes=1))
    said = await children.ask(Ask("double"))
    print(said.zygote, said.pid, flush=True)
    await children.ask(Ask("burn"))

asyncio.run(main())
"""


def test_zygote_and_children_die_with_their_worker() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    ) as worker:
        assert worker.stdout is not None
        pids = list(map(int, worker.stdout.readline().split()))
        there = [alive(pid) for pid in pids]
        worker.kill()

    assert there == [True, True]
    until(lambda: not any(map(alive, pids)), within=10, what="the end of both")
