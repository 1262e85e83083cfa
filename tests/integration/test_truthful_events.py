"""An event cannot lie about itself: the database makes its hashes again, and knows the time and the login."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.core.base import canonical_json
from bpc_worker.domain.events import Happened
from bpc_worker.handler_api import Row, Tx
from bpc_worker.pipeline.session import PipelineSession, open_pipeline
from bpc_worker.postgres.again import again
from tests.integration.test_immutability import ROLES, insert, session
from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.domain import an_event, domain
from tests.support.events import Connection, append, next_event, resealed
from tests.vectors import load

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
    "a member twice": (
        lambda event: resealed(event, payload=f'{{"n":0,{str(event["payload"])[1:]}'),
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


@pytest.mark.parametrize("role", sorted({*ROLES} - {*ACTORS}))
def test_others_append_nothing(db: Database, role: str) -> None:
    tenant_id = db.tenant()
    with session(db, role, tenant_id) as connection, pytest.raises(errors.InsufficientPrivilege):
        insert(connection, "events", an_event(tenant_id, uuid4()))


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


async def test_a_time_that_was_refused_is_another_when_the_transaction_runs_again(db: Database) -> None:
    """As after a wait of half a minute between the look at the clock and the insert."""
    tenant_id, runs = db.tenant(), 0
    happened = Happened(
        event_type="PASSPORT_SIGNED", aggregate_type="passport", aggregate_id=UUID(tenant_id), payload={}
    )

    @again
    async def tell(pipeline: PipelineSession) -> None:
        nonlocal runs
        runs += 1
        async with pipeline.transaction() as tx:
            await pipeline.record(Late(tx) if runs == 1 else tx, happened)

    async with open_pipeline(config.load(env={}), registry.load(), db.url_as("bpc_app"), "acme") as pipeline:
        await tell(pipeline)
    assert (runs, check_chains(db)) == (2, 1)


class Late:
    """A transaction whose look at the clock was half a minute ago."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.send, self.execute, self.enqueue = tx.send, tx.execute, tx.enqueue

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        if name == "events/append":
            params = resealed(dict(params), occurred_at=later(params, seconds=-30))
        return await self._tx.query(name, params)


def test_an_event_of_a_passport_says_which_battery_it_is_of(db: Database) -> None:
    made = domain(db)
    with session(db, "bpc_app", made.tenant_id) as connection:
        actor_id = ACTORS["bpc_app"]
        append(connection, next_event(connection, made.tenant_id, made.passport_id, actor_id, {"n": 1}))
        connection.commit()
    battery = db.one(
        "SELECT serial, unique_identifier, b.identifier AS product FROM passports p"
        " JOIN battery_products b USING (battery_product_id) WHERE passport_id = %s",
        [made.passport_id],
    )
    payload = db.one("SELECT payload FROM events WHERE aggregate_id = %s", [made.passport_id])["payload"]
    assert isinstance(payload, dict)
    assert {name: value for name, value in payload.items() if name != "salt"} == battery | {"n": 1}


def test_the_database_hashes_the_golden_chain_as_we_do(untouched_db: Database) -> None:
    for vector in load("event/chain")["events"]:
        members = vector["input"] | {"prev": vector["input"]["prev_event_hash"]}
        made = untouched_db.one(
            "SELECT encode(bpc_event_hash(%(tenant_id)s::uuid, %(aggregate_type)s, %(aggregate_id)s::uuid,"
            " %(aggregate_version)s, %(event_type)s, %(occurred_at)s::timestamptz, %(actor_id)s,"
            " decode(%(payload_hash)s, 'hex'), decode(%(prev)s, 'hex')), 'hex') AS hash",
            members,
        )

        assert made["hash"] == vector["expected"]["sha256"]


def in_the_database(db: Database, text: str) -> bool | None:
    """Whether it is the canonical text of what it says; None for what cannot be stored at all."""
    try:
        found = db.one("SELECT %s = bpc_canonical_json(%s::jsonb) AS same", [text, text])
    except psycopg.DataError:
        return None
    return bool(found["same"])


def is_canonical(text: str) -> bool:
    try:
        canonical_json.decode(text.encode())
    except canonical_json.CanonicalJsonError:
        return False
    return True


TEXTS = [
    "{}", "[]", "null", "true", '""', "0", "-1", "1.0", "1.5", "1e3", "-0", "12345678901234567890",
    "9007199254740991", "9007199254740992", "-9007199254740991", "-9007199254740992",
    '{"a":1,"a":2}', '{"b":1,"a":2}', '{"a":1,"b":2}', '{"a": 1}', '{"ab":1,"b":2}', '{"b":2,"ab":1}',
    '{"":1}', '{"é":1,"z":2}', '{"z":1,"é":2}', '{"\uffff":1}', '{"🔋":1}', '{"a":"🔋"}', '{"a":{"🔋":1}}',
    r'"\u0041"', r'"\/"', '"/"', r'"\b\t\n\f\r"', r'"\u0001"', r'"\u001F"', r'"\u001f"', '"\x7f\u2028"',
    r'"\""', r'"\\"', '[1,"2",null,[false]]', "[1, 2]", '[{"b":[{}]}]', '{"a":[0.5]}',
    "[" * 256 + "]" * 256, "[" * 257 + "]" * 257, "[" * 256 + "1" + "]" * 256,
    '{"a":' * 255 + "{}" + "}" * 255, '{"a":' * 256 + "{}" + "}" * 256,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_the_database_knows_canonical_texts_as_we_do(untouched_db: Database, text: str) -> None:
    assert bool(in_the_database(untouched_db, text)) == is_canonical(text)


def test_a_login_may_have_any_name(db: Database) -> None:
    """Quotes, controls and what JSON escapes are hashed here as there."""
    name = f'a "b" \\ c\t\x01\x7f/ ä €🔋 {uuid4().hex[:8]}'
    tenant_id = db.tenant()
    with login(db, tenant_id, name, "bpc_app") as connection:
        who = connection.execute("SELECT bpc_who() AS who").fetchone()
        append(
            connection,
            next_event(connection, tenant_id, uuid4(), f"login:{(who or {})['who']}", {"name": name}),
        )
        connection.commit()
    assert check_chains(db) == 1
