"""Real child processes: what they know, how they end, what that costs."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bpc_worker.adapters.children import ChildLimits, Children
from bpc_worker.jobs.errors import JobError, Permanent, Retryable
from tests.support.child_tasks import WORK, Ask


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    pool = Children(ChildLimits(processes=1, memory_mb=1024, cpu_seconds=2))
    yield pool
    await pool.close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_child_answers_and_is_used_again(children: Children) -> None:
    first = await children.run(WORK, Ask("double", 21))
    second = await children.run(WORK, Ask("double", 4))

    assert (first.number, second.number) == (42, 8)
    assert first.pid == second.pid != os.getpid()


async def test_a_child_knows_no_secret_and_has_no_descriptor_of_ours(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BPC_DATABASE_URL", "postgresql://u:hunter2@h/d")
    with Path(__file__).open() as file:
        os.set_inheritable(file.fileno(), True)
        said = await children.run(WORK, Ask("double"))

        assert "hunter2" not in str(said.environment)
        assert set(said.environment) <= {"LANG", "PATH", "LC_CTYPE"}
        assert str(file.fileno()) not in said.descriptors[4:]
        assert len(said.descriptors) <= 6


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
        await children.run(WORK, Ask(what))

    assert caught.value.code == code
    assert (await children.run(WORK, Ask("double", 1))).number == 2


async def test_a_childs_own_error_keeps_code_family_and_detail(children: Children) -> None:
    with pytest.raises(Permanent) as caught:
        await children.run(WORK, Ask("refuse"))

    error: JobError = caught.value
    assert (error.code, error.message, error.detail) == ("UNIT_MISMATCH", "kg is not kWh", {"line": 3})


async def test_a_cancelled_call_kills_its_child(children: Children) -> None:
    pid = (await children.run(WORK, Ask("double"))).pid
    call = asyncio.create_task(children.run(WORK, Ask("hang")))
    await asyncio.sleep(0)
    while children.idle:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    descriptor_gone = await children.run(WORK, Ask("double"))

    assert descriptor_gone.pid != pid
    assert not alive(pid)


async def test_closing_leaves_no_child(children: Children) -> None:
    pid = (await children.run(WORK, Ask("double"))).pid
    await children.close()

    assert not alive(pid)
