"""A single server: settings, failures in plain words, and what it refuses to be."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bpc_worker.postgres.embedded.account import EmbeddedPostgresError, unprivileged_account
from bpc_worker.postgres.embedded.binaries import bin_dir_for
from bpc_worker.postgres.embedded.server import Server
from tests.support.embedded import one, open_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    account = unprivileged_account()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = Server(
        bin_dir=bin_dir_for(account, folder),
        data_dir=folder / "cluster",
        socket_dir=folder / "socket",
        port=port,
        listen="127.0.0.1",
        account=account,
    )
    yield made
    made.stop("immediate")


def with_initdb(server: Server, folder: Path, script: str) -> Server:
    program = folder / "bin" / "initdb"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    for path in (program.parent, program):
        path.chmod(0o755)
    return replace(server, bin_dir=program.parent)


def test_single_server_takes_settings_and_a_tcp_port(server: Server) -> None:
    server.init()
    server.init()  # what is there stays
    server.start({"fsync": "off", "application_name": 'it\'s a "test" $HOME'})

    assert server.url("postgres") == f"postgresql://bpc@127.0.0.1:{server.port}/postgres"
    assert one(server.url("postgres"), "SHOW fsync") == "off"
    assert one(server.url("postgres"), "SHOW application_name") == 'it\'s a "test" $HOME'
    assert server.running()
    assert server.postmaster_pid() is not None

    server.stop("immediate")
    assert not server.running()
    server.stop()  # nothing to do

    server.start()
    assert one(server.url("postgres"), "SHOW fsync") == "on"


def test_failed_start_shows_the_end_of_the_log(server: Server) -> None:
    server.init()

    with pytest.raises(EmbeddedPostgresError, match='invalid value for parameter "max_conn') as bad:
        server.start({"max_connections": "several"})

    assert str(server.log_file) in str(bad.value)
    assert not server.running()


def test_failed_initdb_is_explained(server: Server, folder: Path) -> None:
    broken = with_initdb(server, folder, "echo 'no space left' >&2; exit 1")

    with pytest.raises(EmbeddedPostgresError, match="no space left"):
        broken.init()

    assert not server.data_dir.exists()


def test_system_without_utf8_locale_gets_plain_c(server: Server, folder: Path) -> None:
    real = server.bin_dir / "initdb"
    poor = with_initdb(server, folder, f"""case "$*" in *C.UTF-8*) exit 1; esac; exec '{real}' "$@" """)

    poor.init()

    assert "C.UTF-8" not in (server.data_dir / "postgresql.conf").read_text()


def test_missing_programs_are_named(server: Server, folder: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match=f"Cannot run {folder}/initdb"):
        replace(server, bin_dir=folder).init()


@pytest.mark.parametrize("listen", ["*", "0.0.0.0", "localhost"])  # noqa: S104 - must be refused
def test_server_never_listens_beyond_this_machine(folder: Path, listen: str) -> None:
    with pytest.raises(EmbeddedPostgresError, match=r"only on 127\.0\.0\.1"):
        Server(bin_dir=folder, data_dir=folder, socket_dir=folder, port=5432, listen=listen)


@pytest.mark.parametrize("path", ["relative", "/with $money", '/with "quotes"'])
def test_path_that_a_shell_would_change_is_refused(folder: Path, path: str) -> None:
    with pytest.raises(EmbeddedPostgresError, match="shell"):
        Server(bin_dir=folder, data_dir=Path(path), socket_dir=folder, port=5432)


def test_socket_folder_that_would_read_as_two_hosts_is_refused(folder: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="comma"):
        Server(bin_dir=folder, data_dir=folder, socket_dir=folder / "a,b", port=5432)
