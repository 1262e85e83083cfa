"""Every route of every door, whoever wrote it: without the right token nothing shows and nothing changes.

The tables themselves are walked, so that a new route cannot be forgotten.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import pytest

from bpc_worker.config.load import load
from bpc_worker.domain.tokens import SCOPES, hash_of, new_secret
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.web.doors import parts_of, places
from bpc_worker.web.layer.routes import Door, Route
from bpc_worker.web.serve import DOORS
from tests.support.database import Database
from tests.support.serving import Answer, Serving, serving, token
from tests.support.town import town

# By what stands before it in the path: the things of the tenant, one of which it is to name.
THINGS: Final[Mapping[str, str]] = {
    "documents": "SELECT document_id AS id FROM documents",
    "products": "SELECT battery_product_id AS id FROM battery_products",
    "builds": "SELECT build_id AS id FROM passport_builds",
    "passports": "SELECT passport_id AS id FROM passport_versions WHERE qr_png IS NOT NULL",
    "jobs": "SELECT job_id AS id FROM jobs",
    "versions": "SELECT passport_version_id AS id FROM passport_versions WHERE qr_png IS NOT NULL",
    "webhooks": "SELECT webhook_endpoint_id AS id FROM webhook_endpoints",
    "endpoints": "SELECT webhook_endpoint_id AS id FROM webhook_endpoints",
    "deliveries": "SELECT webhook_delivery_id AS id FROM webhook_deliveries",
    "bulk": "SELECT bulk_act_id AS id FROM bulk_acts",
}
# Where the id is of something else than the path says.
OTHERWISE: Final[Mapping[str, str]] = {"/passports/{id}/code.png": "versions"}
# What is no id of a tenant's, and is asked for as it stands here.
PLAIN: Final[Mapping[str, str]] = {}
SETTINGS: Final = {
    "BPC_HTTP_REQUESTS_PER_SECOND": 100_000, "BPC_HTTP_REQUESTS_BURST": 100_000,
    "BPC_HTTP_TOKEN_REQUESTS_PER_SECOND": 100_000, "BPC_HTTP_TOKEN_REQUESTS_BURST": 100_000,
}  # fmt: skip
_MORE_THINGS: Final = """
WITH endpoint AS (
  INSERT INTO webhook_endpoints (webhook_endpoint_id, tenant_id, url, secret, public_key)
  VALUES (gen_random_uuid(), %(tenant)s, 'https://example.com/hook', 'x', decode(repeat('00', 32), 'hex'))
  RETURNING webhook_endpoint_id
), delivery AS (
  INSERT INTO webhook_deliveries (tenant_id, webhook_endpoint_id, event_id, event_type, body)
  SELECT %(tenant)s, webhook_endpoint_id, gen_random_uuid(), 'PASSPORT_ACTIVATED', '{}' FROM endpoint
)
INSERT INTO bulk_acts (tenant_id, act, died_before, counted, asked_by, status, finished_at)
VALUES (%(tenant)s, 'retry', now(), 1, 'somebody', 'DONE', now())
"""
_PLACE = re.compile(r"([^/]+)/\{(\w+)\}")
_WRITTEN_BY_LOCKS = frozenset({"api_tokens", "token_events", "token_uses", "web_sessions"})


def _routes() -> list[tuple[Door, Route]]:
    settings = load(env={})
    found = places(settings, DOORS, parts_of(settings, {}, "postgresql://nobody@nowhere.invalid/none"))
    return [(door, route) for each in found for door in each.doors for route in door.routes]


ALL = [pytest.param(door, route, id=f"{door.name} {route.method} {route.path}") for door, route in _routes()]
LOCKED = [each for each in ALL if each.values[1].lock.scope is not None]  # type: ignore[union-attr]  # a Route
CHANGING = [each for each in LOCKED if each.values[1].lock.changes]  # type: ignore[union-attr]
NAMING = [each for each in LOCKED if "{" in each.values[1].path]  # type: ignore[union-attr]


@dataclass(frozen=True)
class Installation:
    db: Database
    doors: Serving
    own: str  # a token of the tenant whose things there are
    of_another: str
    good_for_nothing: Mapping[str, str]
    look: str

    def ask(self, door: Door, route: Route, path: str, secret: str | None = None, **headers: str) -> Answer:
        body = b"{}" if route.body is not None else None
        sent = {"Content-Type": "application/json"} if body else {}
        return self.doors.ask(
            door.name, path, method=route.method, body=body, headers=sent | headers, token=secret
        )

    def state(self) -> dict[str, object]:
        """How many rows of each table there are, and by which transaction the last of them was written."""
        return self.db.one(self.look)


def _ended(db: Database, *, is_revoked: bool) -> str:
    secret = new_secret()
    db.run(
        "INSERT INTO api_tokens (name, token_hash, scopes, created_at, expires_at, revoked_at)"
        " VALUES (%s, %s, %s, now() - interval '2 h', now() + %s::interval, %s::timestamptz)",
        [
            f"ended-{is_revoked}",
            hash_of(secret),
            [*SCOPES],
            "1 h" if is_revoked else "-1 h",
            "now" if is_revoked else None,
        ],
    )
    return secret


@pytest.fixture(scope="module")
def installation(server: Server) -> Iterator[Installation]:
    with town(server, "ev") as found:
        db = found.db
        useless = {
            "none": "",
            "unknown": new_secret(),
            "no token at all": "x" * 30,
            "expired": _ended(db, is_revoked=False),
            "revoked": _ended(db, is_revoked=True),
        }
        tenant = str(db.one("SELECT tenant_id FROM tenants WHERE name = 'helios'")["tenant_id"])
        db.run(_MORE_THINGS, {"tenant": tenant})
        own, other = (
            token(db, *SCOPES, tenant=tenant),
            token(db, *SCOPES, tenant=db.tenant("somebody-else")),
        )
        reads = {"BPC_PUBLIC_DATABASE_URL": db.url_as("bpc_public")}
        with serving(db.url_as("bpc_web"), **reads, **SETTINGS) as doors:
            yield Installation(db, doors, own, other, useless, _look(db))


def _look(db: Database) -> str:
    rows = db.run(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    tables = sorted({str(each["relname"]) for each in rows} - _WRITTEN_BY_LOCKS)
    last = "(SELECT (count(*), max(xmin::text::bigint))::text FROM {0}) AS {0}"
    return f"SELECT {', '.join(last.format(table) for table in tables)}"


def path_of(db: Database, route: Route, *, is_there: bool = True) -> str:
    """With ids of things that are there, or of none."""

    def named(found: re.Match[str]) -> str:
        stands, name = found.groups()
        kind = OTHERWISE.get(route.path, stands)
        if name in PLAIN:
            return f"{stands}/{PLAIN[name]}"
        assert kind in THINGS, f"{route.path}: say in THINGS or PLAIN what {{{name}}} stands for"
        return f"{stands}/{db.one(THINGS[kind] + ' LIMIT 1')['id'] if is_there else uuid4()}"

    return _PLACE.sub(named, route.path)


@pytest.mark.parametrize(("door", "route"), LOCKED)
def test_without_a_token_that_is_good_nothing_shows(
    door: Door, route: Route, installation: Installation
) -> None:
    path, before = path_of(installation.db, route), installation.state()
    for why, secret in installation.good_for_nothing.items():
        found = installation.ask(door, route, path, secret or None)

        assert found.status == 401, why
        assert found.headers["content-type"] == "application/problem+json"
        assert found.json["code"] == "UNAUTHENTICATED", why
    assert installation.state() == before


@pytest.mark.parametrize(("door", "route"), LOCKED)
def test_with_every_scope_but_the_one_that_is_needed_nothing_shows(
    door: Door, route: Route, installation: Installation
) -> None:
    lacking = token(installation.db, *(each for each in SCOPES if each != route.lock.scope))
    path, before = path_of(installation.db, route), installation.state()
    found = installation.ask(door, route, path, lacking)

    assert found.status == 403
    assert found.json["code"] == "FORBIDDEN"
    assert installation.state() == before


@pytest.mark.parametrize(("door", "route"), NAMING)
def test_what_is_another_tenants_is_as_if_it_were_not_there(
    door: Door, route: Route, installation: Installation
) -> None:
    db, secret = installation.db, installation.of_another
    there, nowhere = path_of(db, route), path_of(db, route, is_there=False)
    before = installation.state()
    found, missing = (
        installation.ask(door, route, there, secret),
        installation.ask(door, route, nowhere, secret),
    )

    assert _without_ids(found) == _without_ids(missing)
    assert 400 <= found.status < 500 or (route.lock.changes and found.status == 303)
    assert installation.state() == before
    if route.method == "GET":  # else the test would be about nothing
        assert installation.ask(door, route, there, installation.own).status != 404


def _without_ids(answer: Answer) -> tuple[int, str]:
    return answer.status, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", answer.text)


@pytest.mark.parametrize(("door", "route"), CHANGING)
def test_a_page_of_somebody_elses_changes_nothing_in_my_name(
    door: Door, route: Route, installation: Installation
) -> None:
    cookie = _session(installation)
    path, before = path_of(installation.db, route), installation.state()
    for headers in (
        {},
        {"X-CSRF-Token": "0" * 64},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example"},
    ):
        found = installation.ask(door, route, path, Cookie=cookie, **headers)

        assert found.status == 403, headers
        assert found.json["code"] == "FORBIDDEN"
    assert installation.state() == before


def _session(installation: Installation) -> str:
    begun = installation.doors.ask(
        "dashboard", "/session", method="POST", body=f"token={installation.own}",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert begun.status == 303
    return begun.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize(("door", "route"), ALL)
def test_every_answer_has_its_headers_and_no_cookie_that_it_does_not_need(
    door: Door, route: Route, installation: Installation
) -> None:
    found = installation.ask(door, route, route.path.replace("{", "").replace("}", ""))

    assert found.status < 500 or found.status == 501  # what cannot be done to a passport, and is said
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert "cache-control" in found.headers
    assert "set-cookie" not in found.headers or route.path == "/session/end"
    assert ("access-control-allow-origin" in found.headers) is door.cors


@pytest.mark.parametrize(("door", "route"), ALL)
def test_another_method_is_none(door: Door, route: Route, installation: Installation) -> None:
    path = route.path.replace("{", "").replace("}", "")
    found = installation.doors.ask(door.name, path, method="PROPFIND", token=installation.own)
    allowed = installation.doors.ask(door.name, path, method="OPTIONS")

    assert found.status == 405
    assert route.method in found.headers["allow"].split(", ")
    assert allowed.status == 204
    assert allowed.headers["allow"] == found.headers["allow"]


def test_the_public_door_knows_nobody(installation: Installation) -> None:
    with_token = installation.doors.ask(
        "public", "/robots.txt", token=installation.good_for_nothing["expired"]
    )

    assert with_token.status == 200
    assert "Authorization" not in with_token.headers["vary"]
