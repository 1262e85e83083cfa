"""The commands about tokens as real processes: what they print, whom they refuse, what they leave."""

import json
import subprocess

import pytest
from psycopg import sql

from bpc_worker.domain.tokens import hash_of
from tests.support.database import Database
from tests.support.worker import command

Ended = subprocess.CompletedProcess[str]


def run(db: Database, *arguments: str, role: str = "bpc_app", **settings: object) -> Ended:
    done = command(db.url_as(role), "token", *arguments, **settings)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def ok(done: Ended) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def state(db: Database, token: str) -> object:
    with db.connect("bpc_web") as connection:
        row = connection.execute("SELECT state FROM bpc_find_token(%s)", [hash_of(token)]).fetchone()
    return row and row["state"]


def all_roles(db: Database) -> str:
    """The URL of a login that is a reader, an operator and an owner: who may give it all."""
    url = db.url_as("bpc_operator").replace("bpc_operator_login", "bpc_everything_login")
    for role in ("bpc_operator", "bpc_reader", "bpc_app"):
        db.run(
            "DO $$ BEGIN CREATE ROLE bpc_everything_login LOGIN;"
            " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
        db.run(sql.SQL("GRANT {} TO bpc_everything_login").format(sql.Identifier(role)).as_string())
    return url


def test_a_token_is_made_shown_once_listed_and_revoked(db: Database) -> None:
    db.tenant()
    made = run(
        db, "create", "factory-3", "--scopes", "write, read", "--scopes", "activate", "--expires", "180d",
        "--audience", "authorities", "--tenant", "acme", "--json",
    )  # fmt: skip
    shown = json.loads(ok(made))
    plain = run(db, "create", "eyes", "--scopes", "read", BPC_TENANT="acme")
    [other] = [line.split()[-1] for line in ok(plain).splitlines() if line.startswith("token ")]
    listed = run(db, "list", "--tenant", "acme", "--json")
    rows = {row["name"]: row for row in map(json.loads, ok(listed).splitlines())}

    assert sorted(shown) == ["expires_at", "name", "token", "token_id"]
    assert "keep the token: it is not shown again" in made.stderr
    assert [state(db, each) for each in (shown["token"], other)] == ["VALID", "VALID"]
    assert (rows["factory-3"]["scopes"], rows["factory-3"]["audience"]) == (
        ["activate", "read", "write"],
        "authorities",
    )
    assert (rows["eyes"]["tenant"], rows["eyes"]["created_by"]) == ("acme", "bpc_app_login")
    assert rows["factory-3"]["expires_at"] > rows["eyes"]["expires_at"]
    for secret in (shown["token"], other):
        assert secret not in listed.stdout + ok(run(db, "list", "--tenant", "acme"))

    revoked = run(db, "revoke", "factory-3", "--tenant", "acme")
    again = run(db, "revoke", shown["token_id"], "--tenant", "acme")
    assert "is revoked" in revoked.stderr
    assert "was already revoked" in again.stderr
    assert state(db, shown["token"]) == "REVOKED"
    events = db.run("SELECT event_type FROM events WHERE aggregate_type = 'api_token' ORDER BY occurred_at")
    assert [row["event_type"] for row in events] == ["TOKEN_CREATED", "TOKEN_CREATED", "TOKEN_REVOKED"]


def test_tokens_for_all_tenants_are_an_operators(db: Database) -> None:
    db.tenant()
    scale = json.loads(
        ok(run(db, "create", "keda", "--scopes", "scale", "--all-tenants", "--json", role="bpc_operator"))
    )
    weak = run(db, "create", "eyes", "--scopes", "read", "--all-tenants", role="bpc_operator")
    tenants = run(db, "create", "eyes", "--scopes", "operate", "--all-tenants")
    everything = command(
        all_roles(db), "token", "create", "eyes", "--scopes", "read,values,write,operate", "--all-tenants",
        BPC_TENANT="acme",
    )  # fmt: skip

    assert state(db, scale["token"]) == "VALID"
    assert (weak.returncode, tenants.returncode) == (1, 1)
    assert "is made by a member of bpc_reader" in weak.stderr
    assert "GRANT bpc_operator, bpc_reader (for read, values)" in weak.stderr
    ok(everything)
    assert db.run("SELECT name FROM api_tokens WHERE tenant_id IS NULL ORDER BY 1") == [
        {"name": "eyes"},
        {"name": "keda"},
    ]
    listed = ok(run(db, "list", "--all-tenants", role="bpc_reader"))
    assert "keda" in listed
    ok(run(db, "revoke", "keda", "--all-tenants", role="bpc_operator"))
    assert state(db, scale["token"]) == "REVOKED"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["create", "x", "--scopes", "raed", "--tenant", "acme"], 2, "did you mean read?"),
        (["create", "x", "--scopes", "read", "--audience", "authority", "--tenant", "acme"], 2, "authori"),
        (["create", "x", "--scopes", ",", "--tenant", "acme"], 2, "a token has a scope"),
        (["create", "x", "--scopes", "read"], 2, "say --tenant NAME or --all-tenants"),
        (["create", "x", "--scopes", "read", "--tenant", "acme", "--all-tenants"], 2, "say --tenant NAME or"),
        (["create", "x", "--scopes", "read", "--expires", "soon", "--tenant", "acme"], 2, "no length of"),
        (["create", "x", "--scopes", "read", "--expires", "0s", "--tenant", "acme"], 2, "a second at least"),
        (["create", "two words", "--scopes", "read", "--tenant", "acme"], 2, "a token's name is"),
        (["revoke", "nobodys", "--tenant", "acme"], 3, "`bpc-worker token list` shows them"),
        (["list"], 2, "say --tenant NAME or --all-tenants"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_to_do(
    db: Database, arguments: list[str], code: int, said: str
) -> None:
    db.tenant()
    ended = run(db, *arguments)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert said in ended.stderr
    assert db.run("SELECT FROM api_tokens") == []


def test_a_taken_name_is_said_and_an_empty_list_too(db: Database) -> None:
    db.tenant()
    assert "make one with `bpc-worker token create" in run(db, "list", "--tenant", "acme").stderr
    ok(run(db, "create", "x", "--scopes", "read", "--tenant", "acme"))
    taken = run(db, "create", "x", "--scopes", "read", "--tenant", "acme")

    assert taken.returncode == 2
    assert "there is a token named x; choose another name, or revoke it" in taken.stderr
