"""`bpc-worker serve` as a process: doors, probes, metrics, its end."""

from tests.support.database import Database
from tests.support.serving import serving, token


def test_every_door_answers_and_the_process_ends_in_good_order(db: Database) -> None:
    with serving(db.url) as running:
        assert running.ask("public", "/robots.txt").status == 200
        assert running.ask("api", "/v1/whoami").status == 401
        named = running.ask("api", "/v1/whoami", token=token(db, "read", name="jane"))
        assert named.json["name"] == "token:jane"
        assert running.ask("dashboard", "/").status == 401
        assert running.ask("dashboard", "/", headers={"Accept": "text/html"}).status == 303
        assert running.ask("dashboard", "/session", headers={"Accept": "text/html"}).status == 200
        assert running.metric("bpc_http_requests_total", door="public", status="2xx") == 1
        assert running.stop() == 0
