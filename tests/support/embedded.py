"""Folders and processes for tests of the embedded server."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bpc_worker.postgres.embedded.binaries import bundled_bin_dir, server_version
from bpc_worker.postgres.embedded.server import postmaster_pid
from tests.support.database import memory

LIMIT_SECONDS = 30

USER = """
import sys
from bpc_worker.postgres.embedded import database as embedded_postgres
embedded = embedded_postgres.start(sys.argv[1])
print(embedded.url, flush=True)
sys.stdin.read()
embedded.release()
"""


@contextmanager
def open_folder(*, in_memory: bool = False) -> Iterator[Path]:
    """Outside pytest's tree, which is closed to the account that runs the server for root."""
    made = Path(tempfile.mkdtemp(prefix="bpc-", dir=memory() if in_memory else None)).resolve()
    made.chmod(0o711)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def user_process(data: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses the server until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", USER, str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def url_from(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url
    return url


def leave(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0


def cluster_of(data: Path) -> Path:
    return data / f"postgres-{server_version(bundled_bin_dir()).partition('.')[0]}"


def pid_of(data: Path) -> int:
    pid = postmaster_pid(cluster_of(data))
    assert pid is not None
    return pid


def kill_and_wait(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        gone, _, _ = select.select([descriptor], [], [], LIMIT_SECONDS)
        assert gone
    finally:
        os.close(descriptor)


def one(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]
