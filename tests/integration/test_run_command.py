"""RUN_COMMAND with real programs."""

import asyncio
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import msgspec
import pytest

from bpc_worker.handler_api import Command, Context, LeaseLost, Permanent, Retryable
from handlers.run_command import RunCommand, handle


def python(script: str, **options: object) -> Command:
    return Command(argv=(sys.executable, "-I", "-c", script), **options)  # type: ignore[arg-type]  # by name


class Hands:
    """As much of a context as this handler touches."""

    def __init__(self, **commands: Command) -> None:
        self.commands = commands
        self.job = SimpleNamespace(job_id=uuid4(), tenant_id=uuid4(), attempt=3)
        self.lost = False

    def check_lease(self) -> None:
        if self.lost:
            raise LeaseLost("gone")


async def run(hands: Hands, **payload: object) -> dict[str, object]:
    decoded = msgspec.json.decode(json.dumps(payload), type=RunCommand)
    return cast("dict[str, object]", await handle(decoded, cast("Context", hands)))


async def test_json_goes_in_and_comes_out() -> None:
    hands = Hands(add=python("import json,sys; print(json.dumps({'sum': sum(json.load(sys.stdin))}))"))
    result = await run(hands, command="add", stdin=[1, 2, 39])

    assert result == {"exit_code": 0, "answer": {"sum": 42}, "stdout": '{"sum": 42}\n', "stderr": ""}


async def test_arguments_are_passed_without_a_shell() -> None:
    hands = Hands(show=python("import sys; print(sys.argv[1:])"))
    result = await run(hands, command="show", args=["$HOME; rm -rf /", "`id`"])

    assert result["stdout"] == "['$HOME; rm -rf /', '`id`']\n"


async def test_a_name_outside_the_allow_list_is_refused() -> None:
    with pytest.raises(Permanent, match="FORBIDDEN: command 'rm' is not in the allow-list"):
        await run(Hands(add=python("")), command="rm")


async def test_the_program_sees_ids_to_dedupe_on_and_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPC_DATABASE_URL", "postgresql://u:hunter2@h/d")
    hands = Hands(env=python("import json,os; print(json.dumps(dict(os.environ)))", env={"MODE": "x"}))
    seen = cast("dict[str, str]", (await run(hands, command="env"))["answer"])

    assert seen["BPC_JOB_ID"] == str(hands.job.job_id)
    assert (seen["BPC_ATTEMPT"], seen["MODE"]) == ("3", "x")
    assert "hunter2" not in str(seen)


async def test_a_failing_program_is_retryable() -> None:
    with pytest.raises(Retryable, match=r"COMMAND_FAILED.*exit code 3") as caught:
        await run(Hands(bad=python("import sys; sys.exit(3)")), command="bad")

    assert caught.value.detail == {"exit_code": 3}


async def test_a_program_can_say_that_it_is_permanent() -> None:
    script = 'import sys; print(\'{"permanent": true, "message": "no such part"}\'); sys.exit(1)'
    with pytest.raises(Permanent, match=r"COMMAND_FAILED.*no such part"):
        await run(Hands(bad=python(script)), command="bad")


async def test_a_program_that_is_not_there_is_a_permanent_error_of_the_configuration() -> None:
    with pytest.raises(Permanent, match="CONFIG_MISSING"):
        await run(Hands(gone=Command(argv=("/no/such/program",))), command="gone")


async def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    script = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen(['sleep', '600']); open({str(marker)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    with pytest.raises(Retryable, match="COMMAND_TIMEOUT"):
        await run(Hands(hang=python(script, timeout_seconds=1.0)), command="hang")
    grandchild = int(marker.read_text())

    assert await _gone(grandchild)


async def _gone(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), 5)
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return True


async def test_output_is_capped_and_cleaned() -> None:
    script = (
        "import sys; sys.stdout.buffer.write(b'\\x00\\xff' + b'x' * 10_000_000);"
        "sys.stderr.write('e' * 100_000)"
    )
    result = await run(Hands(loud=python(script)), command="loud")

    assert len(str(result["stdout"])) <= 65536
    assert "\x00" not in str(result["stdout"])
    assert len(str(result["stderr"])) == 65536
    assert result["answer"] is None


@pytest.mark.parametrize("said", ['{"a": "\\u0000"}', "[" * 2000, "not json", "1" * 5000, ""])
async def test_an_answer_that_cannot_be_stored_is_none(said: str) -> None:
    result = await run(Hands(say=python(f"print({said!r}, end='')")), command="say")

    assert result["exit_code"] == 0
    json.dumps(result["answer"])
    assert "\x00" not in json.dumps(result["answer"])


async def test_a_program_that_does_not_read_its_input_is_no_error() -> None:
    result = await run(Hands(deaf=python("")), command="deaf", stdin="x" * 1_000_000)

    assert result["exit_code"] == 0


async def test_without_a_lease_nothing_is_started(tmp_path: Path) -> None:
    hands = Hands(touch=Command(argv=("/usr/bin/touch", str(tmp_path / "made"))))
    hands.lost = True
    with pytest.raises(LeaseLost):
        await run(hands, command="touch")

    assert not (tmp_path / "made").exists()


async def test_a_cancelled_handler_kills_its_program(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    script = f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    task = asyncio.create_task(run(Hands(hang=python(script)), command="hang"))
    while not (marker.exists() and marker.read_text()):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await _gone(int(marker.read_text()))


async def test_what_a_program_leaves_in_the_background_neither_delays_nor_leaks() -> None:
    hands = Hands(
        daemon=Command(argv=("/bin/sh", "-c", "setsid sleep 30 & echo '{\"ok\": true}'"), timeout_seconds=10)
    )
    before = open_descriptors()
    results = [await run(hands, command="daemon") for _ in range(3)]

    assert [result["answer"] for result in results] == [{"ok": True}] * 3
    async with asyncio.timeout(5):  # the event loop closes pipes in its own time
        while open_descriptors() > before:
            await asyncio.sleep(0.01)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
