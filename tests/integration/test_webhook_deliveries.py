"""Every event makes its deliveries and their jobs, in its own transaction, whoever appends it."""

import asyncio
import json
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.domain.events import Happened
from bpc_worker.pipeline.deliveries import replay
from bpc_worker.pipeline.session import open_pipeline
from bpc_worker.pipeline.webhooks import add_endpoint, disable, enable, list_endpoints, rotate
from tests.integration.test_immutability import insert, session
from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.domain import an_event
from tests.support.pipeline import Pipeline
from tests.support.webhook_receiver import endpoint, happen


@pytest.fixture
def path(db: Database) -> Pipeline:
    db.tenant()
    return Pipeline(db)


def test_everybody_who_asked_is_told_once_and_nobody_else(db: Database, path: Pipeline) -> None:
    db.tenant("other")
    asked = [
        endpoint(path, "https://a.example/", {}, events="*"),
        endpoint(path, "https://b.example/", {}, events="PASSPORT_SIGNED", max_attempts=100),
        path.call(
            lambda pipeline: add_endpoint(
                pipeline, "https://c.example/", event_types=["*", "PASSPORT_SIGNED"], max_attempts=5
            )
        ),
    ]
    endpoint(path, "https://d.example/", {}, events="KEY_ADDED")
    endpoint(Pipeline(db, "other"), "https://e.example/", {})
    silent = endpoint(path, "https://f.example/", {}, events="PASSPORT_SIGNED")
    db.run(
        "UPDATE webhook_subscriptions SET active = false WHERE webhook_endpoint_id = %s",
        [silent.webhook_endpoint_id],
    )
    happen(path, {"text": "🔋 a/b 50 % \\u0041"})

    rows = db.run(
        "SELECT d.*, j.priority, j.max_attempts, j.payload, j.status AS job, e.event_type AS happened"
        " FROM webhook_deliveries d JOIN events e USING (event_id)"
        " JOIN jobs j ON j.type = 'DELIVER_WEBHOOK' AND j.idempotency_key = d.webhook_delivery_id::text"
        " WHERE e.event_type = 'PASSPORT_SIGNED'"
    )
    assert {row["webhook_endpoint_id"] for row in rows} == {each.webhook_endpoint_id for each in asked}
    assert len(rows) == 3
    assert sorted(int(str(row["max_attempts"])) for row in rows) == [5, 5, 100]
    for row in rows:
        assert (row["status"], row["job"], row["priority"]) == ("PENDING", "QUEUED", 3)
        assert row["payload"] == {"webhook_delivery_id": str(row["webhook_delivery_id"])}
        assert row["event_type"] == row["happened"] == "PASSPORT_SIGNED"


def test_who_asked_for_everything_hears_of_other_endpoints_and_never_of_secrets(
    db: Database, path: Pipeline
) -> None:
    first = endpoint(path, "https://a.example/token-in-a-path", {}, events="*")
    other = endpoint(path, "https://b.example/token-in-a-path", {}, events="KEY_ADDED")
    wanted = str(other.webhook_endpoint_id)
    rotated = path.call(lambda pipeline: rotate(pipeline, wanted, overlap_seconds=60))
    path.call(lambda pipeline: disable(pipeline, wanted, "moved"))
    with db.connect("bpc_worker") as counting:
        assert counting.execute("SELECT bpc_disabled_endpoints() AS n").fetchone() == {"n": 1}
    assert path.call(lambda pipeline: enable(pipeline, wanted))[1]
    assert not path.call(lambda pipeline: enable(pipeline, wanted))[1]

    told = db.run("SELECT webhook_endpoint_id, body FROM webhook_deliveries ORDER BY webhook_delivery_id")
    assert {row["webhook_endpoint_id"] for row in told} == {first.webhook_endpoint_id}
    events = [json.loads(row["body"]) for row in told]  # type: ignore[arg-type]
    assert {each["aggregate_id"] for each in events} == {wanted}
    said = {each["event_type"].removeprefix("WEBHOOK_ENDPOINT_"): each["payload"] for each in events}
    assert list(said) == ["ADDED", "ROTATED", "DISABLED", "ENABLED"]
    key = {"public_key": other.public_key.hex()}
    assert said["ADDED"].items() >= (key | {"host": "b.example", "event_types": ["KEY_ADDED"]}).items()
    assert said["ROTATED"]["public_key"] == rotated.public_key.hex()
    assert said["ROTATED"]["former_until"].endswith("Z")
    assert (said["DISABLED"]["reason"], said["ENABLED"]["disabled_reason"]) == ("moved", "moved")
    secrets = ("token", other.secret, rotated.secret)
    assert not any(secret in str(events) for secret in secrets)
    assert check_chains(db) == 2


def test_the_body_has_the_members_of_the_contract_in_their_order(db: Database, path: Pipeline) -> None:
    endpoint(path, "https://a.example/", {})
    happen(path, {"text": "🔋 a/b 50 %s", "nested": {"list": [1, None]}})

    body = bytes(db.one("SELECT body FROM webhook_deliveries")["body"])  # type: ignore[call-overload]
    event = db.one("SELECT * FROM events WHERE event_type = 'PASSPORT_SIGNED'")
    found = json.loads(body)
    assert list(found) == [
        "event_id", "event_type", "aggregate_type", "aggregate_id", "occurred_at", "payload",
    ]  # fmt: skip
    assert found["event_id"] == str(event["event_id"])
    assert found["aggregate_id"] == str(event["aggregate_id"])
    assert body.endswith(b'"payload":' + str(event["payload_text"]).encode() + b"}")
    assert found["occurred_at"].endswith("Z")
    assert "🔋 a/b 50 %s".encode() in body


def test_without_the_event_there_is_no_delivery(db: Database, path: Pipeline) -> None:
    endpoint(path, "https://a.example/", {})
    tenant_id = db.tenant()
    with session(db, "bpc_worker", tenant_id) as connection:
        insert(connection, "events", an_event(tenant_id, uuid4()))
        assert connection.execute("SELECT FROM webhook_deliveries").rowcount == 1
        connection.rollback()

    assert db.run("SELECT FROM webhook_deliveries") == db.run("SELECT FROM jobs") == []


async def test_deliveries_that_triggers_made_are_follow_ups_of_the_transaction(
    db: Database, path: Pipeline
) -> None:
    """A broker hears of no trigger: whoever commits has to tell it."""
    for number in range(2):
        await asyncio.to_thread(endpoint, path, f"https://{number}.example/", {})
    told: list[str] = []
    settings, handlers = config.load(env={}), registry.load()
    happened = Happened(
        event_type="PASSPORT_SIGNED", aggregate_type="passport", aggregate_id=uuid4(), payload={}
    )
    async with open_pipeline(
        settings,
        handlers,
        db.url_as("bpc_app"),
        "acme",
        lambda queued: told.extend(job.type for job in queued),
    ) as pipeline:
        async with pipeline.transaction() as tx:
            await pipeline.record(tx, happened)
        assert told == ["DELIVER_WEBHOOK"] * 2
        delivery = db.run("SELECT webhook_delivery_id FROM webhook_deliveries")[0]["webhook_delivery_id"]
        await replay(pipeline, UUID(str(delivery)))
        assert told == ["DELIVER_WEBHOOK"] * 3
        async with pipeline.transaction() as tx:
            await tx.execute("SELECT 1")
        assert len(told) == 3


@pytest.mark.parametrize("role", ["bpc_worker", "bpc_app", "bpc_operator"])
def test_nobody_makes_a_delivery_by_hand(db: Database, path: Pipeline, role: str) -> None:
    made = endpoint(path, "https://a.example/", {})
    tenant_id = db.tenant()
    columns: dict[str, object] = {
        "tenant_id": tenant_id, "webhook_endpoint_id": made.webhook_endpoint_id, "event_id": uuid4(),
        "event_type": "PASSPORT_SIGNED", "body": b"forged",
    }  # fmt: skip
    with session(db, role, tenant_id) as connection, pytest.raises(errors.InsufficientPrivilege):
        insert(connection, "webhook_deliveries", columns)
    forged = "SELECT bpc_add_delivery(%s, %s, %s, 'PASSPORT_SIGNED', 'forged', 1)"
    with session(db, role, tenant_id) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(forged, [tenant_id, made.webhook_endpoint_id, uuid4()])


def test_functions_of_the_application_stay_within_the_tenant(db: Database, path: Pipeline) -> None:
    theirs = db.tenant("other")
    made = endpoint(path, "https://a.example/", {})
    happen(path, {})
    delivery = db.one("SELECT webhook_delivery_id FROM webhook_deliveries")["webhook_delivery_id"]
    with session(db, "bpc_app", theirs) as connection:
        for function, wanted in (("bpc_test_webhook", made.webhook_endpoint_id), ("bpc_redeliver", delivery)):
            assert connection.execute(f"SELECT {function}(%s)".encode(), [wanted]).fetchall() == []
    with session(db, "bpc_app", db.tenant()) as connection:
        assert connection.execute("SELECT bpc_redeliver(%s)", [delivery]).rowcount == 1


@pytest.mark.parametrize("named", ["null", "1", '"x"', '{"a": 1}', f'"{UUID(int=7)}"', '"{}"'])
def test_whatever_a_payload_names_a_job_can_die(db: Database, named: str) -> None:
    payload = f'{{"webhook_delivery_id": {named}}}'
    job_id = db.enqueue("DELIVER_WEBHOOK", payload)
    db.run("UPDATE jobs SET status = 'CANCELLED' WHERE job_id = %s", [job_id])

    assert db.job(job_id)["status"] == "CANCELLED"


def test_a_cancelled_job_fails_its_delivery_and_a_foreign_one_does_not(db: Database, path: Pipeline) -> None:
    endpoint(path, "https://a.example/", {})
    happen(path, {})
    delivery = db.one("SELECT webhook_delivery_id FROM webhook_deliveries")["webhook_delivery_id"]
    foreign = db.run(
        "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'DELIVER_WEBHOOK', %s) RETURNING job_id",
        [db.tenant("other"), json.dumps({"webhook_delivery_id": str(delivery)})],
    )[0]["job_id"]
    status = "SELECT status, error_message FROM webhook_deliveries"

    db.run("UPDATE jobs SET status = 'CANCELLED' WHERE job_id = %s", [foreign])
    assert db.one(status)["status"] == "PENDING"
    db.run("UPDATE jobs SET status = 'CANCELLED' WHERE type = 'DELIVER_WEBHOOK' AND status = 'QUEUED'")
    assert db.one(status) == {"status": "FAILED", "error_message": "the job was cancelled"}


def test_an_endpoint_is_never_deleted_and_keeps_its_address(db: Database, path: Pipeline) -> None:
    endpoint(path, "https://a.example/", {})
    for statement in (
        "DELETE FROM webhook_endpoints",
        "UPDATE webhook_endpoints SET url = 'https://b.example/'",
    ):
        with psycopg.connect(db.url) as connection, pytest.raises(errors.RestrictViolation):
            connection.execute(statement.encode())
    assert [each.url for each in path.call(list_endpoints)] == ["https://a.example/"]
