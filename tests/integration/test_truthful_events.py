"""An event cannot lie about itself: the database makes its hashes again, and knows the time and the login."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from tests.integration.test_immutability import session
from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.events import Connection, append, next_event, resealed

JOB = f"job:{UUID(int=7)}"
ACTORS = {"bpc_worker": JOB, "bpc_app": "login:bpc_app_login"}

Change: TypeAlias = Callable[[dict[str, object]], dict[str, object]]


def later(event: Mapping[str, object], **by: float) -> datetime:
    moment = event["occurred_at"]
    assert isinstance(moment, datetime)
    return moment + timedelta(**by)


LIES: dict[str, tuple[Change, type[psycopg.Error]]] = {
    "another hash": (lambda event: event | {"event_hash": bytes(32)}, errors.CheckViolation),
    "the hash of another payload": (
        lambda event: resealed(event, payload_hash=bytes(32)),
        errors.CheckViolation,
    ),
    "a payload in another spelling": (
        lambda event: resealed(event, payload=f"{event['payload']} "),
        errors.CheckViolation,
    ),
    "a payload without a salt": (lambda event: resealed(event, payload='{"n":1}'), errors.CheckViolation),
    "of yesterday": (
        lambda event: resealed(event, occurred_at=later(event, days=-1)),
        errors.SerializationFailure,
    ),
    "of 2099": (
        lambda event: resealed(event, occurred_at=datetime(2099, 1, 1, tzinfo=UTC)),
        errors.SerializationFailure,
    ),
    "eleven seconds ago": (
        lambda event: resealed(event, occurred_at=later(event, seconds=-11)),
        errors.SerializationFailure,
    ),
    "in eleven seconds": (
        lambda event: resealed(event, occurred_at=later(event, seconds=11)),
        errors.SerializationFailure,
    ),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("role", ACTORS)
def test_what_an_event_says_of_itself_is_made_again(db: Database, role: str, lie: str) -> None:
    tenant_id = db.tenant()
    change, refused = LIES[lie]
    with session(db, role, tenant_id) as connection:
        honest = next_event(connection, tenant_id, uuid4(), ACTORS[role], {"n": 1})
        with pytest.raises(refused), connection.transaction():
            append(connection, change(honest))
        append(connection, honest)
        connection.commit()
    assert check_chains(db) == 1


@pytest.mark.parametrize("role", ACTORS)
def test_no_event_is_before_the_one_before_it(db: Database, role: str) -> None:
    tenant_id, chain = db.tenant(), uuid4()
    with session(db, role, tenant_id) as connection:
        first = next_event(connection, tenant_id, chain, ACTORS[role], {"n": 1})
        append(connection, first)
        second = next_event(connection, tenant_id, chain, ACTORS[role], {"n": 2})
        with pytest.raises(errors.SerializationFailure), connection.transaction():
            append(connection, resealed(second, occurred_at=later(first, microseconds=-1)))
        append(connection, resealed(second, occurred_at=first["occurred_at"]))
        connection.commit()
    assert check_chains(db) == 1


@pytest.mark.parametrize(("role", "actor_id"), [*ACTORS.items(), ("bpc_worker", "login:bpc_worker_login")])
def test_a_login_speaks_for_itself_and_a_worker_for_its_jobs(db: Database, role: str, actor_id: str) -> None:
    tenant_id = db.tenant()
    with session(db, role, tenant_id) as connection:
        append(connection, next_event(connection, tenant_id, uuid4(), actor_id, {"text": "ä"}))
        connection.commit()
    assert check_chains(db) == 1


@pytest.mark.parametrize(
    ("role", "actor_id"),
    [
        ("bpc_app", JOB),
        ("bpc_app", "login:bpc_worker_login"),
        ("bpc_app", "login:bpc_app_login/jane"),
        ("bpc_app", "user:bpc_app_login"),
        ("bpc_app", "bpc_app_login"),
        ("bpc_worker", "login:bpc_app_login"),
        ("bpc_worker", "login:bpc_worker_login/jane"),
        ("bpc_worker", "job:"),
        ("bpc_worker", "job:auditor"),
        ("bpc_worker", "user:auditor"),
    ],
)
def test_nobody_speaks_for_another(db: Database, role: str, actor_id: str) -> None:
    tenant_id = db.tenant()
    with session(db, role, tenant_id) as connection:
        event = next_event(connection, tenant_id, uuid4(), actor_id, {})
        with pytest.raises(errors.InsufficientPrivilege):
            append(connection, event)


@contextmanager
def login(db: Database, tenant_id: str, name: str, *roles: str) -> Iterator[Connection]:
    """One transaction of a login with such a name."""
    with db.connect() as connection:
        quoted = psycopg.sql.Identifier(name)
        connection.execute(psycopg.sql.SQL("CREATE ROLE {} LOGIN").format(quoted))
        for role in roles:
            granted = psycopg.sql.SQL("GRANT {} TO {}").format(psycopg.sql.Identifier(role), quoted)
            connection.execute(granted)
    try:
        with psycopg.connect(db.url, user=name, row_factory=psycopg.rows.dict_row) as connection:
            connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [tenant_id])
            yield connection
    finally:
        db.run(psycopg.sql.SQL("DROP ROLE {}").format(quoted).as_string())


def test_a_web_server_speaks_for_those_who_came_to_it(db: Database) -> None:
    tenant_id, name = db.tenant(), f"web {uuid4().hex}"
    with login(db, tenant_id, name, "bpc_app", "bpc_web") as connection:
        for actor_id in (f"login:{name}/jane@example.com", f"login:{name}"):
            append(connection, next_event(connection, tenant_id, uuid4(), actor_id, {}))
        for other in (f"login:{name}/", f"login:{name}jane", "login:bpc_app_login/jane", JOB):
            event = next_event(connection, tenant_id, uuid4(), other, {})
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                append(connection, event)
        connection.commit()
    assert check_chains(db) == 2


def test_a_login_may_have_any_name(db: Database) -> None:
    """Quotes, controls and what JSON escapes are hashed here as there."""
    name = f'a "b" \\ c\t\x01\x7f/ ä €🔋 {uuid4().hex[:8]}'
    tenant_id = db.tenant()
    with login(db, tenant_id, name, "bpc_app") as connection:
        append(connection, next_event(connection, tenant_id, uuid4(), f"login:{name}", {"name": name}))
        connection.commit()
    assert check_chains(db) == 1
