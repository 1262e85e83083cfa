"""`bpc-worker serve` as a process: doors, probes, metrics, its end, a database that goes and comes back."""

import signal
import socket
from typing import Self

import pytest

from tests.support.database import Database
from tests.support.outages import through
from tests.support.serving import Serving, serving, token
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import until
from tests.support.worker import command, worker

ANYWHERE = "0.0.0.0"  # noqa: S104 - which is what these tests are about
PORTS = dict.fromkeys(("BPC_PUBLIC_PORT", "BPC_API_PORT", "BPC_DASHBOARD_PORT"), 0)


def cut(proxy: TcpProxy) -> None:
    proxy.refuse(True)
    proxy.sever()


def logins(db: Database) -> dict[str, object]:
    """As an installation should have them: the doors are no worker, and no owner."""
    return {
        "BPC_WEB_DATABASE_URL": db.url_as("bpc_web"),
        "BPC_PUBLIC_DATABASE_URL": db.url_as("bpc_public"),
    }


def test_every_door_answers_and_the_process_ends_in_good_order(db: Database) -> None:
    with serving(db.url_as("bpc_web"), BPC_PUBLIC_DATABASE_URL=db.url_as("bpc_public")) as running:
        assert running.ask("public", "/robots.txt").status == 200
        assert running.ask("api", "/v1/whoami").status == 401
        named = running.ask("api", "/v1/whoami", token=token(db, "read", name="jane"))
        assert named.json["name"] == "token:jane"
        assert running.ask("dashboard", "/").status == 401
        assert running.ask("dashboard", "/", headers={"Accept": "text/html"}).status == 303
        assert running.ask("dashboard", "/session", headers={"Accept": "text/html"}).status == 200
        assert running.metric("bpc_http_requests_total", door="public", status="2xx") == 1
        assert running.get("/livez")[0] == 200
        assert running.stop() == 0
    assert not [line for line in running.raw if "jane" in line]


def test_a_live_page_ends_with_the_process_and_does_not_hold_it_up(db: Database) -> None:
    with serving(db.url_as("bpc_web"), "dashboard", BPC_SHUTDOWN_GRACE_SECONDS=60) as running:
        secret = token(db, "read")
        with socket.create_connection(("127.0.0.1", running.door_port("dashboard")), timeout=30) as live:
            head = f"GET /live?at=/ HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {secret}\r\n\r\n"
            live.sendall(head.encode())
            assert live.recv(15) == b"HTTP/1.1 200 OK"
            assert running.metric("bpc_http_streams") == 1
            running.send(signal.SIGTERM)
            while live.recv(4096):
                pass
            assert running.wait(20) == 0


def test_a_door_that_was_not_asked_for_is_shut(db: Database) -> None:
    with serving(db.url, "public") as running:
        assert running.ask("public", "/robots.txt").status == 200
        assert [line["door"] for line in running.lines if line.get("msg") == "door_open"] == ["public"]


def test_a_worker_opens_doors_where_it_is_told_to(db: Database) -> None:
    with worker(db.url_as("bpc_worker"), **PORTS) as plain:
        plain.wait_ready()
        assert plain.said("door_open") is None
    with Beside(db.url_as("bpc_worker"), "--serve", **logins(db), **PORTS) as running:
        running.wait_ready()
        until(lambda: running.said("door_open"), within=20, what="doors")
        until(lambda: len([1 for each in running.lines if each.get("msg") == "door_open"]) == 3, within=20)
        assert running.ask("api", "/v1/whoami", token=token(db, "read")).status == 200
        assert running.metric("bpc_http_requests_total", door="api") == 1
        assert running.stop() == 0


class Beside(Serving):
    command = "run"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


@pytest.mark.parametrize("doors", ["dashboard", "api", "dpp"])
def test_a_door_beyond_this_machine_needs_a_lock(db: Database, doors: str) -> None:
    hosts = {"BPC_API_HOST": ANYWHERE, "BPC_DASHBOARD_HOST": ANYWHERE}
    found = command(db.url, "serve", "--doors", doors, **PORTS, **hosts)

    assert found.returncode == 2
    assert "bpc-worker token create" in found.stderr
    token(db, "read")
    with serving(db.url, doors, **hosts) as running:
        assert running.stop() == 0


def test_a_proxy_that_names_people_is_a_lock_and_everybody_may_read_the_public_door(db: Database) -> None:
    named = {
        "BPC_DASHBOARD_HOST": ANYWHERE,
        "BPC_PUBLIC_HOST": ANYWHERE,
        "BPC_HTTP_TRUSTED_PROXIES": "127.0.0.0/8",
        "BPC_HTTP_IDENTITY_HEADER": "X-Forwarded-User",
        "BPC_HTTP_GROUPS": '{"operators": ["read", "operate"]}',
    }
    with serving(db.url, "public", "dashboard", **named) as running:
        ann = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "operators"}
        assert running.ask("dashboard", "/", headers=ann).status == 200
        assert running.ask("dashboard", "/", headers=ann | {"X-Forwarded-Groups": "others"}).status == 403
        assert running.ask("dashboard", "/").status == 401


def test_a_port_that_is_taken_is_said(db: Database) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = command(db.url, "serve", "--doors", "api", **PORTS | {"BPC_API_PORT": port})

    assert found.returncode == 1
    assert "set BPC_API_PORT to a free port" in found.stderr


def test_doors_that_there_are_not_are_refused(db: Database) -> None:
    found = command(db.url, "serve", "--doors", "public,private")

    assert found.returncode == 2
    assert "--doors public,dpp,api,dashboard" in found.stderr


def test_a_database_that_is_away_is_said_at_once_and_found_again(db: Database, proxy: TcpProxy) -> None:
    secret = token(db, "read")
    with serving(through(proxy, db.url)) as running:
        assert running.ask("api", "/v1/whoami", token=secret).status == 200
        cut(proxy)
        away = running.ask("api", "/v1/whoami", token=secret)
        until(lambda: running.get("/readyz")[0] == 503, within=30, what="not ready")
        alive, public = running.get("/livez")[0], running.ask("public", "/robots.txt").status
        proxy.refuse(False)
        until(lambda: running.ask("api", "/v1/whoami", token=secret).status == 200, within=30, what="back")
        until(lambda: running.get("/readyz")[0] == 200, within=30, what="ready")
        assert running.stop() == 0

    assert away.status == 503
    assert int(away.headers["retry-after"]) > 0
    assert (alive, public) == (200, 200)


def test_without_a_database_at_the_start_it_waits_for_one(db: Database, proxy: TcpProxy) -> None:
    cut(proxy)
    with Serve(through(proxy, db.url), **PORTS) as running:
        until(lambda: running.get("/livez")[0] == 200, within=30, what="alive")
        assert running.get("/readyz")[0] == 503
        proxy.refuse(False)
        until(lambda: running.get("/readyz")[0] == 200, within=30, what="ready")
        running.send(signal.SIGINT)
        assert running.wait(20) == 0


class Serve(Beside):
    command = "serve"
