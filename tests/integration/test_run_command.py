"""RUN_COMMAND with real programs."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping
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
        self.name = "somebody"

    async def read(self, name: str, params: Mapping[str, object]) -> list[dict[str, object]]:
        assert (name, params) == ("tenants/name", {"tenant_id": self.job.tenant_id})
        return [{"name": self.name}]

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
    hands = Hands(show=python("import sys; print(sys.argv[1:])", args=(".*", ".*")))
    result = await run(hands, command="show", args=["$HOME; rm -rf /", "`id`"])

    assert result["stdout"] == "['$HOME; rm -rf /', '`id`']\n"


async def test_a_program_takes_no_arguments_unless_the_configuration_says_so(tmp_path: Path) -> None:
    """`find` runs whatever it is told to, so an allow-list of programs alone is none."""
    (tmp_path / "file").touch()
    made = tmp_path / "made"
    hands = Hands(find=Command(argv=("/usr/bin/find", str(tmp_path))))
    with pytest.raises(Permanent, match=r"FORBIDDEN: command 'find' takes no arguments.*find\.args"):
        await run(hands, command="find", args=["-exec", "/bin/sh", "-c", f"id > {made}", "{}", "+"])

    assert not made.exists()
    assert (await run(hands, command="find"))["exit_code"] == 0


async def test_an_argument_must_match_the_pattern_at_its_place_as_a_whole() -> None:
    hands = Hands(show=Command(argv=("/bin/echo",), args=("[a-z]+", r"\d{1,3}")))

    assert (await run(hands, command="show", args=["part", "417"]))["stdout"] == "part 417\n"
    assert (await run(hands, command="show", args=["part"]))["stdout"] == "part\n"
    for args, place in ((["part", "417x"], 2), (["-n", "4"], 1), (["part\n", "4"], 1), (["", "4"], 1)):
        with pytest.raises(
            Permanent, match=rf"VALIDATION_ERROR: command 'show': argument {place} "
        ) as caught:
            await run(hands, command="show", args=args)
        assert "417x" not in str(caught.value)  # payloads are not quoted
    with pytest.raises(Permanent, match="FORBIDDEN: command 'show' takes at most 2 arguments"):
        await run(hands, command="show", args=["part", "4", "-x"])


async def test_an_argument_that_is_longer_than_anybody_needs_is_not_looked_at() -> None:
    hands = Hands(show=Command(argv=("/bin/echo",), args=(".*",)))
    with pytest.raises(Permanent, match="VALIDATION_ERROR: command 'show': argument 1 has 5000 characters"):
        await run(hands, command="show", args=["x" * 5000])


async def test_a_program_for_some_tenants_is_not_for_others() -> None:
    ours = uuid4()
    by_id = Hands(hi=Command(argv=("/bin/echo",), tenants=(str(ours),)))
    by_name = Hands(hi=Command(argv=("/bin/echo",), tenants=("acme",)))
    for hands in (by_id, by_name):
        with pytest.raises(Permanent, match=r"FORBIDDEN: command 'hi' is not for this tenant.*hi\.tenants"):
            await run(hands, command="hi")
    by_name.name = str(ours)  # a name that looks like another tenant's id is a name
    with pytest.raises(Permanent, match="FORBIDDEN"):
        await run(by_name, command="hi")
    by_id.job.tenant_id, by_name.name = ours, "acme"

    assert [(await run(hands, command="hi"))["exit_code"] for hands in (by_id, by_name)] == [0, 0]


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


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1] + ".part", "w").write(str(os.getpid()))
        os.rename(sys.argv[1] + ".part", sys.argv[1])
        time.sleep(600)
    os._exit(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


async def test_a_daemon_ends_with_the_program_that_left_it(tmp_path: Path) -> None:
    result = await run(
        Hands(leave=python(DAEMON, args=(".*",))), command="leave", args=[str(tmp_path / "pid")]
    )

    assert result["exit_code"] == 0
    assert await _gone(int((tmp_path / "pid").read_text()))


async def test_a_daemon_ends_with_the_time_of_its_program(tmp_path: Path) -> None:
    hands = Hands(leave=python(f"{DAEMON}\ntime.sleep(600)", timeout_seconds=2.0, args=(".*",)))
    with pytest.raises(Retryable, match="COMMAND_TIMEOUT"):
        await run(hands, command="leave", args=[str(tmp_path / "pid")])

    assert await _gone(int((tmp_path / "pid").read_text()))


WORKER = """
import asyncio, sys
from tests.integration.test_run_command import DAEMON, Hands, python, run
TELL = "\\nopen(sys.argv[2], 'w').write(str(os.getpid()))\\ntime.sleep(600)"
hands = Hands(leave=python(DAEMON + TELL, args=(".*", ".*")))
asyncio.run(run(hands, command="leave", args=sys.argv[1:]))
"""


async def test_nothing_outlives_a_worker_that_is_killed(tmp_path: Path) -> None:
    """Neither the program nor a daemon of its own session."""
    daemon, program = tmp_path / "daemon", tmp_path / "program"
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, str(daemon), str(program))
    async with asyncio.timeout(30):
        while not (program.exists() and program.read_text()):
            await asyncio.sleep(0.01)
    pids = [int(daemon.read_text()), int(program.read_text())]
    worker.kill()
    await worker.wait()

    assert [await _gone(pid) for pid in pids] == [True, True]


async def test_a_program_may_send_signals_to_its_own_group() -> None:
    result = await run(
        Hands(group=Command(argv=("/bin/sh", "-c", "trap '' TERM; kill 0; echo 1"))), command="group"
    )

    assert (result["exit_code"], result["answer"]) == (0, 1)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGPIPE", "SIGUSR1"])
async def test_a_program_that_ends_by_a_signal_says_which(name: str) -> None:
    script = f"import os, signal; signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), signal.{name})"
    with pytest.raises(Retryable, match=f"COMMAND_FAILED.*was ended by {name}"):
        await run(Hands(bad=python(script)), command="bad")


async def test_what_a_program_wrote_to_standard_error_is_kept_when_it_fails() -> None:
    script = "import sys; sys.stderr.write('x' * 5000 + ' no such part\\n'); sys.exit(2)"
    with pytest.raises(Retryable) as caught:
        await run(Hands(bad=python(script)), command="bad")

    detail = caught.value.detail or {}
    assert detail["exit_code"] == 2
    assert len(str(detail["stderr"])) == 2000
    assert str(detail["stderr"]).endswith(" no such part")


_SIGNALS_WITH_A_NAME = (1 << 31) - 1  # 32 and 33 are the C library's own, and as whoever started us has them


def _ignored_by_whoever_started_us() -> int:
    """Control-C by a shell that starts something in the background, the end of the terminal by nohup."""
    ours = int(Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0], 16)
    of_python = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    return ours & ~of_python


async def test_only_standard_descriptors_are_open_and_pipes_end_programs_as_usual() -> None:
    script = (
        "import json, os, signal; print(json.dumps({"
        "'open': sorted(os.listdir('/proc/self/fd'))[:4],"
        "'blocked': sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),"
        "'ignored': open('/proc/self/status').read().split('SigIgn:')[1].split()[0]}))"
    )
    with Path(os.devnull).open() as other:
        os.set_inheritable(other.fileno(), True)
        shell = f'exec {sys.executable} -I -c "$0"'
        result = await run(Hands(look=Command(argv=("/bin/sh", "-c", shell, script))), command="look")

    seen = cast("dict[str, object]", result["answer"])
    assert seen["open"] == ["0", "1", "2", "3"]  # the last one is the look itself
    assert seen["blocked"] == []
    ignored = int(str(seen["ignored"]), 16) & _SIGNALS_WITH_A_NAME & ~_ignored_by_whoever_started_us()
    assert ignored in {0, 1 << 12, 1 << 12 | 1 << 24}  # what Python ignores for itself


async def test_the_environment_is_the_one_that_was_given() -> None:
    hands = Hands(
        plain=Command(argv=("/usr/bin/env",), env={"LANG": "C"}),
        chosen=Command(argv=("/usr/bin/env",), env={"LANG": "C", "LC_CTYPE": "C"}),
    )
    plain = str((await run(hands, command="plain"))["stdout"])
    chosen = str((await run(hands, command="chosen"))["stdout"])

    names = {line.partition("=")[0] for line in plain.splitlines()}
    assert names == {"PATH", "LANG", "BPC_JOB_ID", "BPC_TENANT_ID", "BPC_ATTEMPT"}
    assert "LC_CTYPE=C\n" in chosen


async def test_more_memory_than_allowed_is_not_to_be_had() -> None:
    hands = Hands(greedy=python("x = bytearray(400_000_000)", memory_mb=200))
    with pytest.raises(Retryable, match="exit code 1") as caught:
        await run(hands, command="greedy")

    assert "MemoryError" in str(caught.value.detail)


async def test_more_cpu_time_than_allowed_ends_a_program() -> None:
    with pytest.raises(Retryable, match=r"was ended by SIG(XCPU|KILL)"):
        await run(Hands(busy=python("while True: pass", cpu_seconds=1, timeout_seconds=30)), command="busy")


async def test_half_a_gigabyte_of_output_is_read_and_forgotten() -> None:
    flood = Command(argv=("/usr/bin/head", "-c", "500000000", "/dev/zero"))
    result = await run(Hands(flood=flood), command="flood")

    assert result["exit_code"] == 0
    assert result["stdout"] == "\ufffd" * 65536


async def test_an_answer_that_was_cut_short_is_none() -> None:
    """What is left of a long number is a number, too."""
    result = await run(Hands(long=python("print('1' * 65536 + '2')")), command="long")

    assert result["answer"] is None


async def test_a_program_that_drips_is_ended_in_time() -> None:
    drip = python(
        "import time\nwhile True: print('.', end='', flush=True); time.sleep(0.01)", timeout_seconds=1.0
    )
    with pytest.raises(Retryable, match="COMMAND_TIMEOUT"):
        await run(Hands(drip=drip), command="drip")


async def test_a_program_that_closes_its_output_early_is_waited_for(tmp_path: Path) -> None:
    script = (
        "import os, sys; print(1, flush=True); os.close(1); os.close(2)\n"
        "import time; time.sleep(0.3); open(sys.argv[1], 'w').close()"
    )
    result = await run(Hands(shy=python(script, args=(".*",))), command="shy", args=[str(tmp_path / "made")])

    assert result["answer"] == 1
    assert (tmp_path / "made").exists()


def _not_executable(path: Path) -> None:
    path.write_text("#!/bin/sh\n")


def _a_folder(path: Path) -> None:
    path.mkdir()


def _no_program(path: Path) -> None:
    path.write_text("no program")
    path.chmod(0o755)


def _without_interpreter(path: Path) -> None:
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)


@pytest.mark.parametrize("make", [_not_executable, _a_folder, _no_program, _without_interpreter])
async def test_what_is_no_program_is_a_permanent_error_of_the_configuration(
    tmp_path: Path, make: object
) -> None:
    path = tmp_path / "program"
    assert callable(make)
    make(path)
    with pytest.raises(Permanent, match=rf"CONFIG_MISSING.*cannot be started: {path}: \w"):
        await run(Hands(bad=Command(argv=(str(path),))), command="bad")


async def test_a_program_that_is_being_replaced_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "program"
    shutil.copy("/bin/true", path)
    with path.open("ab"), pytest.raises(Retryable, match=r"COMMAND_FAILED.*Text file busy"):
        await run(Hands(busy=Command(argv=(str(path),))), command="busy")


async def test_a_program_with_our_exit_code_is_a_program_that_failed() -> None:
    with pytest.raises(Retryable, match=r"COMMAND_FAILED.*exit code 127"):
        await run(Hands(bad=Command(argv=("/bin/sh", "-c", "exit 127"))), command="bad")


async def test_a_working_folder_that_is_not_there_is_a_permanent_error_of_the_configuration() -> None:
    with pytest.raises(Permanent, match=r"CONFIG_MISSING.*/no/such/folder"):
        await run(Hands(lost=Command(argv=("/bin/true",), cwd="/no/such/folder")), command="lost")
