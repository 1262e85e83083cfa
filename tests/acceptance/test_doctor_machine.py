"""Faults of machines, made for real: a standby, a full disk, a clock that is wrong."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bpc_worker.postgres.embedded.account import private_folder, run_program
from bpc_worker.postgres.embedded.server import Server
from tests.acceptance.test_doctor import PROD
from tests.support.database import free_port, postgres
from tests.support.patients import Patient, make_template, patient

OFF = 90
WRONG_CLOCK = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {{
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, now);
  if (id == CLOCK_REALTIME) now->tv_sec += {OFF};
  return result;
}}
"""


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with postgres({"max_wal_senders": "2"}, in_memory=True) as running:
        make_template(running)
        yield running


@pytest.fixture
def ill(clinic: Server, tmp_path: Path) -> Iterator[Patient]:
    with patient(clinic, tmp_path, PROD) as made:
        yield made


@contextmanager
def standby_of(primary: Server) -> Iterator[Server]:
    """A copy that follows the other one until it is told to lead."""
    root = primary.data_dir.parent / "standby"
    private_folder(root, primary.account)
    copy = replace(primary, data_dir=root / "data", socket_dir=root / "run", port=free_port())
    made = run_program(
        [str(primary.bin_dir / "pg_basebackup"), "--write-recovery-conf", "--checkpoint=fast",
         f"--pgdata={copy.data_dir}", f"--dbname={primary.url('postgres')}"],
        primary.account,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    try:
        copy.start({"max_connections": "200"})  # no fewer than the one it follows
        yield copy
    finally:
        copy.stop("immediate")


def test_a_standby_is_told_and_leads_after_the_fix(ill: Patient, clinic: Server) -> None:
    with standby_of(clinic) as copy:
        ill.server = copy

        found = ill.examined()
        finding = found.one("database.read_only")
        assert (found.code, finding["level"]) == (1, "wrong")
        assert finding["what"] == "the server is a standby: it only reads"
        ill.paste(finding["fix"])

        assert (ill.examined().findings, ill.run("SELECT pg_is_in_recovery() AS it")) == ([], [{"it": False}])
        ill.server = clinic


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A file system of its own, kept in memory; whoever is not root cannot have one."""
    folder = Path("/tmp") / f"bpc-small-disk-{os.getpid()}"  # noqa: S108 - mounted over and removed here
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
    )
    try:
        if mounted.returncode != 0:
            pytest.skip("no right to mount a small disk")
        yield folder
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def test_a_disk_that_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk("300m") as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        with postgres() as cramped, patient_on(cramped, tmp_path) as ill:
            assert ill.examined().findings == []
            filler = disk / "filler"
            with filler.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - 12 * 2**20)

            found = ill.examined()
            finding = found.one("disk.full")
            assert (found.code, finding["level"], finding["paste"]) == (1, "wrong", "shell")
            assert finding["what"].startswith("4 % (0.0 GiB) are free where the data is: /tmp/bpc-small-disk")
            shown = subprocess.run(
                ["bash", "-c", finding["fix"]], capture_output=True, text=True, check=True
            ).stdout
            assert "pg_wal" in shown, "it shows what there is"
            filler.unlink()

            assert ill.examined().findings == []


@contextmanager
def patient_on(server: Server, folder: Path) -> Iterator[Patient]:
    make_template(server)
    with patient(server, folder, PROD) as made:
        yield made


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler for a clock that is wrong")
def test_a_clock_that_is_wrong(ill: Patient, tmp_path: Path) -> None:
    """The clock is put forward for one process; to set the machine's own is not for a test."""
    source, shim = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(WRONG_CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)

    found = ill.examined_after(f"export LD_PRELOAD={shim}")
    finding = found.one("clock.differs")
    assert (found.code, finding["level"], finding["paste"]) == (1, "wrong", "shell")
    assert finding["what"] == f"the database's clock is {OFF}.0 s behind this machine's"
    assert "timedatectl set-ntp true" in finding["fix"]
    assert ill.examined_after("true").findings == []
