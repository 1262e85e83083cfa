"""Five thousand sockets that say nothing, or half of something: whoever asks in earnest is served."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.serving import Serving, serving

SOCKETS = 5000
HALF_A_REQUEST = b"GET /robots.txt HTTP/1.1\r\nHost: h\r\nX-Slow:"
KEPT = {"BPC_HTTP_HEAD_SECONDS": 600}


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * SOCKETS:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * SOCKETS, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def open_sockets(port: int, sent: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        made = []
        for _ in range(SOCKETS):
            each = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            each.sendall(sent)
            made.append(each)
        yield made


def megabytes(running: Serving) -> int:
    status = Path(f"/proc/{running.pid}/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024


def is_closed(each: socket.socket) -> bool:
    each.setblocking(False)
    try:
        return each.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", HALF_A_REQUEST], ids=["silent", "half"])
def test_all_are_kept_and_a_new_client_is_served(db: Database, sent: bytes) -> None:
    with serving(db.url, "public", BPC_HTTP_CONNECTIONS=2 * SOCKETS, **KEPT) as running:
        before = megabytes(running)
        with open_sockets(running.door_port("public"), sent) as made:
            found = running.ask("public", "/robots.txt").status
            probes = [running.get(path, timeout=5)[0] for path in ("/livez", "/readyz", "/metrics")]
            held, after = running.metric("bpc_http_connections", door="public"), megabytes(running)
            closed = sum(map(is_closed, made))
        print(f"\n{held:.0f} sockets held: {before} MB before, {after} MB with them")
        assert running.stop() == 0

    assert (found, probes, closed) == (200, [200] * 3, 0)
    assert held >= SOCKETS


def test_where_there_are_too_many_the_idle_ones_make_room(db: Database) -> None:
    with serving(db.url, "public", BPC_HTTP_CONNECTIONS=500, **KEPT) as running:
        with open_sockets(running.door_port("public"), HALF_A_REQUEST) as made:
            found = running.ask("public", "/robots.txt").status
            held = running.metric("bpc_http_connections", door="public")
            closed = sum(map(is_closed, made))
        print(f"\n{held:.0f} sockets held, {closed} closed: {megabytes(running)} MB")
        assert running.stop() == 0

    assert found == 200
    assert held <= 500
    assert closed >= SOCKETS - 500
