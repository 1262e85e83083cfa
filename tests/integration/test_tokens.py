"""Tokens and sessions in the database: hashes alone, as long as they are in force, found by bpc_web."""

import asyncio
import hashlib
import secrets

import pytest
from psycopg import errors

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.domain.tokens import SCOPES, NewToken, hash_of
from bpc_worker.jobs.errors import Permanent
from bpc_worker.operator import tokens as of_all
from bpc_worker.operator.session import open_operator
from bpc_worker.pipeline import tokens as of_one
from bpc_worker.pipeline.session import open_pipeline
from tests.integration.test_immutability import session
from tests.support.database import Database

ASKED = {"scopes": ["read"], "audience": "public", "seconds": 3600.0}
CREATE = (
    "SELECT token_id FROM bpc_create_token(%s::uuid, %s, %s, %s::text[], 'public', now() + interval '1 hour')"
)


def make(db: Database, name: str = "factory", tenant: str | None = "acme", **asked: object) -> NewToken:
    """As the commands do it."""

    async def run() -> NewToken:
        settings = config.load(env={})
        if tenant is not None:
            db.tenant(tenant)
            async with open_pipeline(settings, registry.load(), db.url_as("bpc_app"), tenant) as pipeline:
                return await of_one.create_token(pipeline, name, **(ASKED | asked))  # type: ignore[arg-type]
        async with open_operator(settings, db.url) as operator:
            return await of_all.create_token(operator, name, **(ASKED | asked))  # type: ignore[arg-type]

    return asyncio.run(run())


def find(db: Database, token: str | bytes, call: str = "bpc_find_token") -> dict[str, object] | None:
    hashed = token if isinstance(token, bytes) else hash_of(token)
    with db.connect("bpc_web") as connection:
        return connection.execute(f"SELECT * FROM {call}(%s)".encode(), [hashed]).fetchone()


def begin(db: Database, token: str, seconds: int = 600) -> bytes:
    hashed = hashlib.sha256(secrets.token_bytes(32)).digest()
    with db.connect("bpc_web") as connection:
        row = connection.execute(
            "SELECT bpc_begin_session(%s, %s, %s) AS ends", [hash_of(token), hashed, seconds]
        )
        assert (row.fetchone() or {})["ends"] is not None
    return hashed


def age(db: Database, seconds: int) -> None:
    """As if all this had happened so long ago."""
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        for table, column in (
            ("api_tokens", "created_at"), ("api_tokens", "expires_at"), ("web_sessions", "expires_at"),
            ("token_uses", "last_used_at"),
        ):  # fmt: skip
            shifted = f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)"
            connection.execute(shifted.encode(), [seconds])


def revoke(db: Database, made: NewToken) -> None:
    db.run("SELECT bpc_revoke_token(%s)", [made.token_id])


NOTHING = dict.fromkeys(("token_id", "tenant_id", "name", "scopes", "audience", "expires_at"))


@pytest.mark.parametrize("tenant", ["acme", None])
def test_a_token_is_found_by_its_hash_as_long_as_it_is_in_force(db: Database, tenant: str | None) -> None:
    made = make(db, tenant=tenant, scopes=["write", "read", "read"], audience="authorities")

    found = find(db, made.token)
    assert found is not None
    assert (str(found["tenant_id"]) if found["tenant_id"] else None) == (db.tenant() if tenant else None)
    assert (found["state"], found["name"], found["scopes"]) == ("VALID", "factory", ["read", "write"])
    assert (found["token_id"], found["audience"]) == (made.token_id, "authorities")
    assert find(db, secrets.token_bytes(32)) is None
    age(db, 3601)
    assert find(db, made.token) == {"state": "EXPIRED"} | NOTHING
    revoke(db, made)
    assert find(db, made.token) == {"state": "REVOKED"} | NOTHING


def test_only_the_hash_is_in_the_database(db: Database) -> None:
    made = make(db)
    dump = "".join(
        str(row)
        for table in ("api_tokens", "events", "token_events")
        for row in db.run(f"SELECT * FROM {table}")
    )

    assert made.token.startswith("bpc_")
    assert len(made.token) == len("bpc_") + 43
    assert made.token not in dump
    assert made.token.removeprefix("bpc_") not in dump
    assert hash_of(made.token) == hashlib.sha256(made.token.encode()).digest()
    assert [hash_of(each) for each in ("", "bpc_", f" {made.token}", f"{made.token}=", made.token[:-1])] == [
        None
    ] * 5


def test_a_token_of_a_tenant_is_an_event_of_its_audit_trail(db: Database) -> None:
    made = make(db, scopes=["read", "activate"])
    events = db.run(
        "SELECT aggregate_type, aggregate_id, event_type, actor_id, payload - 'salt' AS payload FROM events"
    )
    noted = db.run("SELECT token_id, action, by FROM token_events")

    [event] = events
    expires = event["payload"].pop("expires_at")  # type: ignore[attr-defined]
    assert expires.startswith("20")
    assert event == {
        "aggregate_type": "api_token",
        "aggregate_id": made.token_id,
        "event_type": "TOKEN_CREATED",
        "actor_id": "login:bpc_app_login",
        "payload": {"name": "factory", "scopes": ["activate", "read"], "audience": "public"},
    }
    assert noted == [{"token_id": made.token_id, "action": "created", "by": "bpc_app_login"}]


def test_who_made_and_revoked_one_for_all_tenants_is_noted(db: Database) -> None:
    made = make(db, tenant=None, scopes=["operate"])
    with db.connect("bpc_operator") as connection:
        done = connection.execute("SELECT bpc_revoke_token(%s) AS done", [made.token_id]).fetchone()
        again = connection.execute("SELECT bpc_revoke_token(%s) AS done", [made.token_id]).fetchone()

    assert (done, again) == ({"done": True}, {"done": False})
    noted = db.run("SELECT action, by FROM token_events WHERE token_id = %s ORDER BY 1", [made.token_id])
    owner = db.one("SELECT session_user::text AS who")["who"]
    assert noted == [{"action": "created", "by": owner}, {"action": "revoked", "by": "bpc_operator_login"}]
    assert db.run("SELECT FROM events") == []


def test_nobody_hands_out_what_he_may_not_do(db: Database) -> None:
    ours, other = db.tenant(), db.tenant("other")
    with session(db, "bpc_app", ours) as connection:
        for tenant_id in (None, other):
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(CREATE, [tenant_id, "x", secrets.token_bytes(32), ["read"]])
        assert connection.execute(
            CREATE, [ours, "x", secrets.token_bytes(32), ["operate", "values"]]
        ).fetchone()
    with session(db, "bpc_operator", None) as connection:
        for scope in ("read", "values", "write", "activate", "webhooks"):
            with (
                pytest.raises(errors.InsufficientPrivilege, match=r"bpc_(reader|app)"),
                connection.transaction(),
            ):
                connection.execute(CREATE, [None, "y", secrets.token_bytes(32), ["operate", scope]])
        with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
            connection.execute(CREATE, [ours, "y", secrets.token_bytes(32), ["operate"]])
        assert connection.execute(
            CREATE, [None, "y", secrets.token_bytes(32), ["operate", "scale"]]
        ).fetchone()
    for role in ("bpc_reader", "bpc_worker", "bpc_producer", "bpc_public"):
        with session(db, role, ours) as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute(CREATE, [ours, "z", secrets.token_bytes(32), ["read"]])


@pytest.mark.parametrize("role", ["bpc_app", "bpc_operator"])
def test_a_fault_in_a_door_makes_no_key_to_it(db: Database, role: str) -> None:
    tenant_id = db.tenant()
    with session(db, "bpc_web", tenant_id) as connection:
        connection.execute(f"SET LOCAL ROLE {role}".encode())
        for whose in (tenant_id, None):
            with (
                pytest.raises(errors.InsufficientPrivilege, match="bpc_web makes no tokens"),
                connection.transaction(),
            ):
                connection.execute(CREATE, [whose, "x", secrets.token_bytes(32), ["operate"]])


@pytest.mark.parametrize(
    "role", ["bpc_app", "bpc_operator", "bpc_reader", "bpc_worker", "bpc_producer", "bpc_public"]
)
def test_nobody_else_looks_one_up_nor_sees_a_hash(db: Database, role: str) -> None:
    made = make(db)
    with session(db, role, db.tenant()) as connection:
        for statement in (
            "SELECT * FROM bpc_find_token(%s)", "SELECT bpc_begin_session(%s, sha256('x'), 60)",
            "SELECT * FROM bpc_find_session(%s)", "SELECT bpc_end_session(%s)",
            "SELECT FROM api_tokens WHERE token_hash = %s",
            "SELECT FROM web_sessions WHERE session_hash = %s",
            "UPDATE api_tokens SET scopes = '{operate}' WHERE token_hash = %s",
            "UPDATE api_tokens SET revoked_at = NULL WHERE token_id::text <> %s::text",
            "DELETE FROM token_events WHERE by <> %s::text",
        ):  # fmt: skip
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement.encode(), [hash_of(made.token)])


def test_a_tenant_sees_its_own_tokens_and_an_operator_all(db: Database) -> None:
    make(db, "ours")
    theirs = make(db, "theirs", "other")
    make(db, "all", None)
    listed = "SELECT name FROM api_tokens ORDER BY name"
    for role, tenant_id, names in (
        ("bpc_app", db.tenant(), ["ours"]), ("bpc_app", None, []),
        ("bpc_operator", None, ["all", "ours", "theirs"]), ("bpc_reader", None, ["all", "ours", "theirs"]),
    ):  # fmt: skip
        with session(db, role, tenant_id) as connection:
            assert [row["name"] for row in connection.execute(listed.encode()).fetchall()] == names
    with (
        session(db, "bpc_app", db.tenant()) as connection,
        pytest.raises(errors.NoDataFound, match="no token"),
    ):
        connection.execute("SELECT bpc_revoke_token(%s)", [theirs.token_id])


def test_a_token_never_changes(db: Database) -> None:
    made = make(db)
    columns = (
        "token_id",
        "tenant_id",
        "name",
        "token_hash",
        "scopes",
        "audience",
        "created_at",
        "created_by",
        "expires_at",
    )
    for column in columns:
        with pytest.raises(errors.RestrictViolation):
            db.run(f"UPDATE api_tokens SET {column} = {column}")
    revoke(db, made)
    for statement in (
        "UPDATE api_tokens SET revoked_at = NULL", "DELETE FROM api_tokens",
        "UPDATE token_events SET by = 'x'", "DELETE FROM token_events",
    ):  # fmt: skip
        with pytest.raises(errors.RestrictViolation):
            db.run(statement)


def test_a_name_stands_for_one_token_at_a_time(db: Database) -> None:
    made = make(db, "robot")
    make(db, "robot", "other")
    for tenant in ("acme", None):  # one for all tenants acts where that of a tenant does
        with pytest.raises(
            Permanent, match="there is a token named robot; choose another name, or revoke it"
        ):
            make(db, "robot", tenant)
    revoke(db, made)
    make(db, "robot")
    make(db, "android", None)
    with pytest.raises(Permanent, match="there is a token named android"):
        make(db, "android")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"scopes": ["raed"]}, r"no scope is called 'raed'; did you mean read\?"),
        ({"scopes": ["priority:4"]}, r"did you mean priority:[0-3]\?"),
        ({"scopes": ["everything"]}, "no scope is called 'everything'; there are read, values"),
        ({"scopes": []}, "a token has a scope: read"),
        ({"audience": "authority"}, r"did you mean authorities\?"),
        ({"seconds": 0.0}, "a second at least"),
        ({"name": "two words"}, "a token's name is"),
        ({"name": "/jane"}, "a token's name is"),
        ({"name": "x" * 61}, "a token's name is"),
    ],
)
def test_what_is_wrong_with_a_token_is_said(db: Database, asked: dict[str, object], said: str) -> None:
    with pytest.raises(Permanent, match=said):
        make(db, **asked)  # type: ignore[arg-type]


def test_code_and_database_know_the_same_scopes(db: Database) -> None:
    make(db, scopes=list(SCOPES))
    row = db.one(
        "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint"
        " WHERE conname = 'api_tokens_scopes_check'"
    )
    assert set(str(row["text"]).split("'")[1::2]) - {"{}"} == set(SCOPES)


def test_use_is_noted_once_a_minute_and_never_waited_for(db: Database) -> None:
    made = make(db)
    used = "SELECT last_used_at FROM token_uses"
    assert db.one(used) == {"last_used_at": None}
    with db.connect() as connection, connection.transaction():
        connection.execute("SELECT FROM api_tokens, token_uses FOR UPDATE")
        assert find(db, made.token) is not None, "whoever holds the row holds up nobody"
    assert db.one(used) == {"last_used_at": None}
    with session(db, "bpc_web", None) as connection:
        connection.execute("SET TRANSACTION READ ONLY")
        assert connection.execute(
            "SELECT state FROM bpc_find_token(%s)", [hash_of(made.token)]
        ).fetchone() == {"state": "VALID"}
    assert db.one(used) == {"last_used_at": None}
    find(db, made.token)
    first = db.one(used)
    assert first["last_used_at"] is not None
    find(db, made.token)
    assert db.one(used) == first
    age(db, 61)
    find(db, made.token)
    assert db.one(used) != db.one(
        "SELECT %s::timestamptz - interval '61 s' AS last_used_at", [first["last_used_at"]]
    )


def test_a_session_stands_on_its_token(db: Database) -> None:
    made = make(db, scopes=["read", "operate"])
    hashed = begin(db, made.token)
    found = find(db, hashed, "bpc_find_session")
    token = find(db, made.token)

    assert found is not None
    assert token is not None
    assert found["expires_at"] < token["expires_at"]  # type: ignore[operator]
    assert found | {"expires_at": None} == token | {"expires_at": None}
    age(db, 601)
    assert find(db, hashed, "bpc_find_session") == {"state": "EXPIRED"} | NOTHING
    assert find(db, secrets.token_bytes(32), "bpc_find_session") is None
    # The hash of a token opens no session, and that of a session is no token.
    assert find(db, hash_of(made.token) or b"", "bpc_find_session") is None
    assert find(db, hashed) is None


def test_a_session_ends_with_its_token_at_the_latest(db: Database) -> None:
    made = make(db)
    hashed = begin(db, made.token, 10**8)
    row = db.one(
        "SELECT s.expires_at = t.expires_at AS same FROM web_sessions s JOIN api_tokens t USING (token_id)"
    )
    assert row == {"same": True}
    assert find(db, hashed, "bpc_find_session") is not None
    revoke(db, made)
    assert find(db, hashed, "bpc_find_session") is None
    with db.connect("bpc_web") as connection:
        ends = connection.execute(
            "SELECT bpc_begin_session(%s, sha256('x'), 60) AS ends", [hash_of(made.token)]
        )
        assert ends.fetchone() == {"ends": None}


def test_a_session_is_ended_by_its_hash(db: Database) -> None:
    made = make(db)
    hashed, other = begin(db, made.token), begin(db, made.token)
    with db.connect("bpc_web") as connection:
        for expected in (True, False):
            row = connection.execute("SELECT bpc_end_session(%s) AS was", [hashed]).fetchone()
            assert row == {"was": expected}
    assert find(db, hashed, "bpc_find_session") is None
    assert (find(db, other, "bpc_find_session") or {})["state"] == "VALID"


def test_sessions_that_have_ended_are_cleared_away(db: Database) -> None:
    made = make(db)
    for _ in range(5):
        begin(db, made.token)
    age(db, 601)
    begin(db, made.token)
    assert db.one("SELECT count(*) AS n FROM web_sessions") == {"n": 1}


def test_a_token_has_so_many_sessions_and_no_more(db: Database) -> None:
    made, other = make(db), make(db, "other")
    kept = begin(db, other.token)
    db.run(
        "INSERT INTO web_sessions (session_hash, token_id, created_at, expires_at)"
        " SELECT sha256(g::text::bytea), %s, now() - g * interval '1 s', now() + interval '1 hour'"
        " FROM generate_series(1, 1200) AS g",
        [made.token_id],
    )
    newest = begin(db, made.token)

    assert db.one("SELECT count(*) AS n FROM web_sessions WHERE token_id = %s", [made.token_id]) == {
        "n": 1000
    }
    for hashed in (kept, newest, hashlib.sha256(b"1").digest(), hashlib.sha256(b"999").digest()):
        assert (find(db, hashed, "bpc_find_session") or {})["state"] == "VALID"
    assert find(db, hashlib.sha256(b"1000").digest(), "bpc_find_session") is None


def test_nobody_who_uses_a_token_holds_up_its_revocation(db: Database) -> None:
    """However long his transaction lasts; and what he does in it is good for nothing afterwards."""
    made, fresh = make(db), hashlib.sha256(b"fresh").digest()
    session_hashes = [begin(db, made.token), begin(db, made.token), fresh]
    with session(db, "bpc_web", None) as connection:
        connection.execute("SELECT * FROM bpc_find_token(%s)", [hash_of(made.token)])
        connection.execute("SELECT * FROM bpc_find_session(%s)", [session_hashes[0]])
        connection.execute("SELECT bpc_end_session(%s)", [session_hashes[1]])
        connection.execute("SELECT bpc_begin_session(%s, %s, 600)", [hash_of(made.token), fresh])
        with db.connect() as other:
            other.execute("SET lock_timeout = '5s'")
            other.execute("SELECT bpc_revoke_token(%s)", [made.token_id])
        found = connection.execute("SELECT state FROM bpc_find_token(%s)", [hash_of(made.token)]).fetchone()
        assert found == {"state": "REVOKED"}, "in a transaction that goes on, too"
        connection.commit()

    assert find(db, made.token) == {"state": "REVOKED"} | NOTHING
    for hashed in session_hashes:
        assert find(db, hashed, "bpc_find_session") in (None, {"state": "REVOKED"} | NOTHING)


def test_whoever_remembers_tokens_hears_of_a_revocation(db: Database) -> None:
    made = make(db)
    with db.connect("bpc_web") as connection:
        connection.execute("LISTEN bpc_tokens")
        revoke(db, made)
        heard = [notice.payload for notice in connection.notifies(timeout=30, stop_after=1)]
    assert heard == [str(made.token_id)]
