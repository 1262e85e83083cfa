"""Commands of ours as processes that begin where their imports are done.

A worker spends 1.4 s of CPU on imports, and the tests start a thousand of them. A server that has imported
everything forks each of them instead: the same processes with their own ids, signals, files and environment.
Who looks at the start of the program itself, or puts another program before it, starts it afresh.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIGKILL, Signals

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.preloaded"])


def _begin(
    arguments: Sequence[str], env: Mapping[str, str], cwd: str, out: str, errors: Connection | str
) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    _write_to(1, out)
    _write_to(2, errors)
    sys.path[:0] = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.argv = ["bpc-worker", *arguments]
    from bpc_worker.cli import main

    main(prog_name="bpc-worker")


def _write_to(number: int, target: Connection | str) -> None:
    if isinstance(target, Connection):
        os.dup2(target.fileno(), number)
        target.close()
    elif target:
        opened = os.open(target, os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)


class Forked:
    """As much of `subprocess.Popen` as the tests use; without a file for the errors they can be read."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        *,
        out: Path | None = None,
        errors: Path | None = None,
    ) -> None:
        self._arguments = [*arguments]
        with ExitStack() as closing:
            told: Connection | str = str(errors)
            if errors is None:
                heard, told = _CONTEXT.Pipe(duplex=False)
                closing.callback(heard.close)
                closing.callback(told.close)
                self.stderr = os.fdopen(os.dup(heard.fileno()), encoding="utf-8")
            given = (self._arguments, env, str(Path.cwd()), str(out or ""), told)
            self._process = _CONTEXT.Process(target=_begin, args=given)
            self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._arguments, timeout)
        return self._process.exitcode

    def send_signal(self, which: Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, which)

    def kill(self) -> None:
        self.send_signal(SIGKILL)


def run(
    arguments: Sequence[str], env: Mapping[str, str], *, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """A command to its end, and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder, "out"), Path(folder, "errors")
        out.touch()
        errors.touch()
        process = Forked(arguments, env, out=out, errors=errors)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(
            [*arguments], code, out.read_text("utf-8"), errors.read_text("utf-8")
        )
