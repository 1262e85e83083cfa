"""A real `bpc-worker run` as a process, and what a test can see of it."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from tests.support import pgbouncer
from tests.support.forked import Forked
from tests.support.forked import run as run_forked
from tests.support.log_lines import strange
from tests.support.waiting import until as until  # noqa: PLC0414 - tests import it from here

SITE = Path(__file__).parent / "site"  # the test handlers, as an installed distribution
COMMAND = [str(Path(sys.executable).parent / "bpc-worker")]


def environment(url: str, **settings: object) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PYTEST"))}
    defaults = {
        "BPC_DATABASE_URL": url,
        "BPC_HTTP_PORT": "0",
        "BPC_LOG_FORMAT": "json",
        "BPC_LOG_LEVEL": "debug",
        "PYTHONPATH": str(SITE),
    }
    if pgbouncer.ON:
        defaults |= pgbouncer.settings_for(url)
    return kept | defaults | {name: str(value) for name, value in settings.items()}


def hear_control_c() -> None:
    """Also where whoever started the tests had it ignored, as a shell does in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Worker:
    before: ClassVar[Sequence[str]] = ()  # a program that starts it, somewhere else or in another way
    program: Sequence[str] = COMMAND
    command: ClassVar[str] = "run"

    def __init__(self, url: str, *arguments: str, **settings: object) -> None:
        env = environment(url, **settings)
        self._logs_json = env["BPC_LOG_FORMAT"] == "json"
        self._process = self._start([*self.program, self.command, *arguments], env)
        self.lines: list[dict[str, object]] = []
        self.raw: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(self, program: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str] | Forked:
        starts_as_usual = env["PYTHONPATH"] == str(SITE)  # else Python itself is to find something there
        if self.program == COMMAND and not self.before and starts_as_usual:
            return Forked(program[1:], env)
        return subprocess.Popen([*self.before, *program], env=env, stderr=subprocess.PIPE, text=True)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.raw.append(line)
            with suppress(ValueError):
                self.lines.append(json.loads(line))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def port(self) -> int:
        line = until(lambda: self.said("started") or self.exit_code is not None, within=60, what="started")
        assert isinstance(line, dict), f"the worker did not start: {''.join(self.raw)}"
        return int(str(line["port"]))

    def said(self, msg: str) -> dict[str, object] | None:
        return next((line for line in tuple(self.lines) if line.get("msg") == msg), None)

    def wait_ready(self, within: float = 20) -> "Worker":
        until(lambda: self.get("/v1/health/ready")[0] == 200, within=within, what="ready")
        return self

    def get(self, path: str, *, timeout: float = 1.0) -> tuple[int, str]:
        """Status and body; status 0 when there was no answer in time."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        total = 0.0
        for line in self.get("/v1/metrics", timeout=5)[1].splitlines():
            sample, _, value = line.rpartition(" ")
            family, _, found = sample.partition("{")
            if family == name and all(f'{key}="{wanted}"' in found for key, wanted in labels.items()):
                total += float(value)
        return total

    def send(self, which: signal.Signals) -> None:
        self._process.send_signal(which)

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def wait(self, within: float) -> int:
        code = self._process.wait(timeout=within)
        self._reader.join(timeout=5)
        return code

    def stop(self, within: float = 35) -> int:
        self.send(signal.SIGTERM)
        return self.wait(within)

    def end(self) -> None:
        """Whatever state it is in; and everything it wrote must have been a log line as they should be."""
        if self.exit_code is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)
                self._process.kill()
        self._process.wait(timeout=10)
        self._reader.join(timeout=5)
        if self._process.stderr is not None:
            self._process.stderr.close()
        if self._logs_json:
            odd = strange(self.raw, cut_short=self.exit_code != 0)
            assert not odd, f"not log lines with allowed keys: {odd[:5]}"


@contextmanager
def worker(url: str, *arguments: str, **settings: object) -> Iterator[Worker]:
    running = Worker(url, *arguments, **settings)
    try:
        yield running
    finally:
        running.end()


def command(url: str, *arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """Another command of bpc-worker, to its end."""
    return run_forked(arguments, environment(url, **settings))
