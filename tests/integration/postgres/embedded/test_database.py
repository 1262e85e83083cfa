"""One server for all processes of a data folder: shared, left, killed, started again."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import util
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from bpc_worker.demo import run as demo
from bpc_worker.demo.stage import DATABASE
from bpc_worker.postgres.embedded import database as embedded_postgres
from bpc_worker.postgres.embedded.database import EmbeddedPostgresError
from bpc_worker.postgres.embedded.server import postmaster_pid
from tests.support.embedded import (
    LIMIT_SECONDS,
    cluster_of,
    kill_and_wait,
    leave,
    one,
    open_folder,
    pid_of,
    url_from,
    user_process,
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture
def data(folder: Path) -> Iterator[Path]:
    yield folder / "data"
    embedded_postgres.stop(str(folder / "data"))


def test_server_answers_until_it_is_released(data: Path) -> None:
    embedded = embedded_postgres.start(str(data))

    assert one(embedded.url, "SELECT current_database()") == "bpc"
    assert one(embedded.url, "SHOW server_encoding") == "UTF8"
    assert one(embedded.url, "SELECT current_user") == "bpc"
    assert one(embedded.url, "SHOW listen_addresses") == ""
    assert embedded.notice.startswith("embedded PostgreSQL ")
    assert str(data) in embedded.notice

    embedded.release()
    embedded.release()  # a second time is harmless

    assert postmaster_pid(cluster_of(data)) is None
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(embedded.url)


def test_data_outlives_the_server(data: Path) -> None:
    first = embedded_postgres.start(str(data))
    with psycopg.connect(first.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    first.release()

    second = embedded_postgres.start(str(data))

    assert one(second.url, "SELECT number FROM kept") == 7


def test_server_stays_until_the_last_process_leaves(data: Path) -> None:
    first = embedded_postgres.start(str(data))
    with user_process(data) as second:
        url = url_from(second)
        pid = pid_of(data)

        first.release()

        assert url == first.url
        assert one(url, "SELECT 1") == 1
        assert pid_of(data) == pid

        leave(second)

    assert postmaster_pid(cluster_of(data)) is None


def test_killed_process_does_not_keep_the_server(data: Path) -> None:
    with user_process(data) as killed:
        url_from(killed)
        killed.kill()
        killed.wait(LIMIT_SECONDS)
        pid = pid_of(data)

    survivor = embedded_postgres.start(str(data))
    assert pid_of(data) == pid
    survivor.release()

    assert postmaster_pid(cluster_of(data)) is None


def test_processes_that_start_together_get_one_server(data: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(user_process(data)) for _ in range(3)]
        urls = {url_from(process) for process in processes}
        log = (data / "postgres.log").read_text()

        assert len(urls) == 1
        assert log.count("database system is ready to accept connections") == 1

        for process in processes:
            leave(process)
    assert postmaster_pid(cluster_of(data)) is None


def test_killed_server_is_started_again(data: Path) -> None:
    first = embedded_postgres.start(str(data))
    pid = pid_of(data)
    kill_and_wait(pid)
    assert postmaster_pid(cluster_of(data)) is None

    second = embedded_postgres.start(str(data))

    assert pid_of(data) != pid
    assert one(first.url, "SELECT 1") == 1
    first.release()
    assert one(second.url, "SELECT 1") == 1
    second.release()
    assert postmaster_pid(cluster_of(data)) is None


def test_pid_file_whose_number_belongs_to_somebody_else_is_stale(data: Path) -> None:
    """After a reboot or in a new container the number is soon in use again."""
    embedded_postgres.start(str(data)).release()
    (cluster_of(data) / "postmaster.pid").write_text(f"{os.getpid()}\n{cluster_of(data)}\n")
    assert embedded_postgres.stop(str(data)) is False

    embedded = embedded_postgres.start(str(data))

    assert one(embedded.url, "SELECT 1") == 1


def test_stop_says_whether_there_was_a_server(data: Path) -> None:
    assert embedded_postgres.stop(str(data)) is False
    assert not data.exists()

    embedded = embedded_postgres.start(str(data))

    assert embedded_postgres.stop(str(data)) is True
    assert embedded_postgres.stop(str(data)) is False
    embedded.release()


def test_interrupted_initdb_leaves_nothing_in_the_way(data: Path) -> None:
    half = data / f"{cluster_of(data).name}.new"
    half.mkdir(parents=True)
    data.chmod(0o711)
    (half / "PG_VERSION").write_text("18\n")

    embedded = embedded_postgres.start(str(data))

    assert one(embedded.url, "SELECT 1") == 1
    assert not half.exists()


def test_cluster_of_another_major_is_refused_and_kept(data: Path) -> None:
    old = data / "postgres-9"
    old.mkdir(parents=True)
    (old / "PG_VERSION").write_text("9\n")

    with pytest.raises(EmbeddedPostgresError, match="pg_dump") as refused:
        embedded_postgres.start(str(data))

    assert str(old) in str(refused.value)
    assert (old / "PG_VERSION").read_text() == "9\n"
    assert not cluster_of(data).exists()


@pytest.mark.parametrize("name", ["long" * 30, "one, two"])
def test_unfit_path_gets_its_socket_in_a_private_temporary_folder(folder: Path, name: str) -> None:
    data = folder / name
    embedded = embedded_postgres.start(str(data))
    socket_dir = Path(str(conninfo_to_dict(embedded.url)["host"]))
    try:
        assert one(embedded.url, "SELECT 1") == 1
        assert folder not in socket_dir.parents
        assert stat.S_IMODE(socket_dir.stat().st_mode) == 0o700
    finally:
        embedded.release()
        socket_dir.rmdir()


def test_socket_folder_is_closed_to_others(data: Path) -> None:
    embedded = embedded_postgres.start(str(data))

    found = Path(str(conninfo_to_dict(embedded.url)["host"])).stat()
    assert stat.S_IMODE(found.st_mode) == 0o700
    assert found.st_uid == Path(f"/proc/{pid_of(data)}").stat().st_uid


@pytest.mark.parametrize("trap", ["link", "open"])
def test_socket_folder_that_is_not_private_is_refused(data: Path, trap: str) -> None:
    data.mkdir(mode=0o711)
    socket_dir = data / f"{cluster_of(data).name}.run"
    if trap == "link":
        (data / "elsewhere").mkdir(mode=0o700)
        socket_dir.symlink_to(data / "elsewhere")
    else:
        socket_dir.mkdir()
        socket_dir.chmod(0o755)

    with pytest.raises(EmbeddedPostgresError, match="remove it"):
        embedded_postgres.start(str(data))


def test_server_without_its_socket_is_replaced_only_when_nobody_uses_it(data: Path) -> None:
    with user_process(data) as other:
        socket_dir = Path(str(conninfo_to_dict(url_from(other))["host"]))
        pid = pid_of(data)
        (socket_dir / ".s.PGSQL.5432").unlink()

        with pytest.raises(EmbeddedPostgresError, match="db stop"):
            embedded_postgres.start(str(data))
        assert pid_of(data) == pid

        other.kill()
        other.wait(LIMIT_SECONDS)

    embedded = embedded_postgres.start(str(data))
    assert one(embedded.url, "SELECT 1") == 1
    assert pid_of(data) != pid


def test_server_sees_nothing_of_our_environment(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPC_SECRET", "hidden")
    monkeypatch.setenv("PGDATA", "/nowhere")
    embedded_postgres.start(str(data))

    environment = Path(f"/proc/{pid_of(data)}/environ").read_bytes()
    assert b"BPC_SECRET" not in environment


def test_missing_wheel_is_explained(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: None)

    with pytest.raises(EmbeddedPostgresError, match=r"bpc-worker\[demo\].*BPC_DATABASE_URL"):
        embedded_postgres.start(str(data))


def test_windows_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(EmbeddedPostgresError, match="Windows"):
        embedded_postgres.start(str(folder))


def test_folder_that_cannot_be_made_is_explained(folder: Path) -> None:
    (folder / "file").touch()

    with pytest.raises(EmbeddedPostgresError, match="BPC_DATA_DIR"):
        embedded_postgres.start(str(folder / "file" / "data"))


@pytest.mark.parametrize("version", ["0001_roles", "0101_roles"], ids=["an earlier baseline", "another text"])
def test_the_demo_makes_its_own_database_anew_and_no_other(data: Path, version: str) -> None:
    """When other migrations than these have made it."""
    ledger = (
        "CREATE TABLE schema_migrations (version text, checksum text, former_release_works boolean);"
        f" INSERT INTO schema_migrations VALUES ('{version}', 'x', true)"
    )
    with ExitStack() as running:
        shares = [embedded_postgres.start(str(data), name) for name in ("bpc", DATABASE)]
        for share in shares:
            running.callback(share.release)
            with psycopg.connect(share.url, autocommit=True) as connection:
                connection.execute(ledger)
        users, demos = shares

        assert demo.begin_anew(demos)
        assert one(demos.url, "SELECT to_regclass('schema_migrations') IS NULL")
        assert not demo.begin_anew(demos)
        assert one(users.url, "SELECT count(*) FROM schema_migrations") == 1
