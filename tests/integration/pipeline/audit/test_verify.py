"""`audit verify` names every change of the chains of events, with its position."""

import tracemalloc
from pathlib import Path
from uuid import uuid4

import pytest

from bpc_worker.core.audit.event_hash import Flaw
from bpc_worker.domain.events import Happened
from bpc_worker.pipeline.audit import streams
from bpc_worker.pipeline.audit.findings import Finding, Missing
from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline, keyed
from tests.support.trail import append, checkpoint, delete, intruder, named, verified

# Each column of an event, changed as little as possible, and how the change of version 2 is named.
CHANGES = {
    "event_id": (None, Flaw.WRONG_ID),
    "tenant_id": (None, Flaw.GAP),
    "aggregate_type": ("'other'", Flaw.GAP),
    "aggregate_id": ("gen_random_uuid()", Flaw.GAP),
    "aggregate_version": ("7", Flaw.GAP),
    "event_type": ("event_type || 'X'", Flaw.WRONG_HASH),
    "occurred_at": ("occurred_at + interval '1 microsecond'", Flaw.WRONG_HASH),
    "actor_id": ("actor_id || ' '", Flaw.WRONG_HASH),
    "payload": ("payload || '{\"n\": 3}'", Flaw.WRONG_PAYLOAD),
    "payload_hash": ("set_byte(payload_hash, 31, get_byte(payload_hash, 31) # 1)", Flaw.WRONG_HASH),
    "prev_event_hash": ("set_byte(prev_event_hash, 0, get_byte(prev_event_hash, 0) # 1)", Flaw.WRONG_PREV),
    "event_hash": ("set_byte(event_hash, 9, get_byte(event_hash, 9) # 1)", Flaw.WRONG_HASH),
}


@pytest.fixture
def path(db: Database) -> Pipeline:
    return keyed(db)


def test_an_untouched_trail_holds(path: Pipeline) -> None:
    chains = [append(path, uuid4(), count) for count in (1, 2, 5)]
    report = verified(path, checkpoint(path))

    assert report.findings == []
    assert (report.chains, report.events, report.broken) == (len(chains) + 1, 8 + 1, 0)  # and the key's own


def test_a_change_of_any_column_of_an_event_is_named(db: Database, path: Pipeline) -> None:
    columns = db.run(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name = 'events'"
    )
    chains = {str(row["column_name"]): append(path, uuid4()) for row in columns}
    assert set(chains) == set(CHANGES), "a column without a known change"

    other = db.tenant("other")
    with intruder(db) as connection:
        connection.execute("ALTER TABLE events ALTER COLUMN event_id DROP EXPRESSION")
        for column, chain in chains.items():
            given = {"event_id": f"'{uuid4()}'", "tenant_id": f"'{other}'"}.get(column) or CHANGES[column][0]
            statement = (
                f"UPDATE events SET {column} = {given} WHERE aggregate_id = %s AND aggregate_version = 2"
            )
            assert connection.execute(statement.encode(), [chain]).rowcount == 1

    found = [(each.aggregate_id, each.aggregate_version, each.flaw) for each in verified(path).findings]
    for column, chain in chains.items():
        assert (chain, 2, CHANGES[column][1]) in found, column


def test_a_payload_without_canonical_form_is_named(db: Database, path: Pipeline) -> None:
    chains = [append(path, uuid4()) for _ in range(3)]
    with intruder(db) as connection:
        for chain, payload in zip(chains, ['{"n": 0.0}', "[]", '{"n": 99999999999999999999}'], strict=True):
            connection.execute("UPDATE events SET payload = %s WHERE aggregate_id = %s", [payload, chain])

    assert named(verified(path)) == {chain: [(1, Flaw.WRONG_PAYLOAD)] for chain in chains}


def test_a_time_that_no_event_has_is_named(db: Database, path: Pipeline) -> None:
    chain = append(path, uuid4())
    with intruder(db) as connection:
        connection.execute("ALTER TABLE events DROP CONSTRAINT events_occurred_at_check")
        connection.execute("ALTER TABLE events ALTER COLUMN event_id DROP EXPRESSION")
        connection.execute("UPDATE events SET occurred_at = 'infinity' WHERE aggregate_id = %s", [chain])

    assert named(verified(path)) == {chain: [(1, Flaw.ILL_FORMED)]}


def test_lost_events_and_heads_are_named(db: Database, path: Pipeline) -> None:
    first, middle, last, head, all_events, moved = (append(path, uuid4()) for _ in range(6))
    delete(db, "events", first, "aggregate_version = 1")
    delete(db, "events", middle, "aggregate_version = 2")
    delete(db, "events", last, "aggregate_version = 3")
    delete(db, "event_heads", head)
    delete(db, "events", all_events)
    with intruder(db) as connection:
        connection.execute("UPDATE event_heads SET aggregate_version = 2 WHERE aggregate_id = %s", [moved])

    assert named(verified(path)) == {
        first: [(1, Flaw.GAP)],
        middle: [(2, Flaw.GAP)],
        last: [(3, Flaw.LOST_TAIL)],
        head: [(3, Missing.NO_HEAD)],
        all_events: [(3, Missing.NO_CHAIN)],
        moved: [(3, Flaw.WRONG_HEAD)],
    }


def test_swapped_and_appended_events_are_named(db: Database, path: Pipeline) -> None:
    places, contents, appended, far, forked = (append(path, uuid4()) for _ in range(5))
    with intruder(db) as connection:
        connection.execute("ALTER TABLE events DROP CONSTRAINT events_first_follows_none")
        for old, new in ((2, 9), (3, 2), (9, 3)):
            connection.execute(
                "UPDATE events SET aggregate_version = %s WHERE aggregate_id = %s AND aggregate_version = %s",
                [new, places, old],
            )
        connection.execute(
            "UPDATE events e SET payload = o.payload, payload_hash = o.payload_hash FROM events o"
            " WHERE e.aggregate_id = %s AND o.aggregate_id = e.aggregate_id AND e.aggregate_version IN (1, 2)"
            " AND o.aggregate_version = 3 - e.aggregate_version",
            [contents],
        )
        for chain, copied, version in ((appended, 3, 4), (far, 3, 7)):
            connection.execute(
                "INSERT INTO events (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_type,"
                " occurred_at, actor_id, payload, payload_hash, prev_event_hash, event_hash)"
                " SELECT tenant_id, aggregate_type, aggregate_id, %s, event_type, now(), actor_id, payload,"
                " payload_hash, event_hash, sha256(event_hash) FROM events"
                " WHERE aggregate_id = %s AND aggregate_version = %s",
                [version, chain, copied],
            )
        connection.execute(
            "UPDATE event_heads SET aggregate_version = 2, event_hash = (SELECT event_hash FROM events e"
            " WHERE e.aggregate_id = event_heads.aggregate_id AND e.aggregate_version = 2)"
            " WHERE aggregate_id = %s",
            [forked],
        )

    assert named(verified(path)) == {
        places: [(2, Flaw.WRONG_PREV)],
        contents: [(1, Flaw.WRONG_HASH)],
        appended: [(4, Flaw.WRONG_HASH)],
        far: [(4, Flaw.GAP)],
        forked: [(3, Flaw.WRONG_HEAD)],
    }


def test_an_emptied_table_is_named_chain_by_chain(db: Database, path: Pipeline) -> None:
    chains = [append(path, uuid4()) for _ in range(3)]
    with intruder(db) as connection:
        connection.execute("ALTER TABLE events DISABLE TRIGGER USER")
        connection.execute("TRUNCATE events")

    found = named(verified(path))
    assert {chain: found[chain] for chain in chains} == {chain: [(3, Missing.NO_CHAIN)] for chain in chains}
    assert verified(path).broken == 4  # and the key's own


def test_the_order_of_the_walk_is_that_of_the_database(path: Pipeline) -> None:
    """Types whose order depends on the collation: an underscore before a letter, or none at all."""

    async def work(pipeline: PipelineSession) -> None:
        async with pipeline.transaction() as tx:
            for kind in ("rules", "rule_set", "rulez", "rule_", "signing_keys"):
                for _ in range(3):
                    happened = Happened(
                        event_type="KEY_ADDED", aggregate_type=kind, aggregate_id=uuid4(), payload={}
                    )
                    await pipeline.record(tx, happened)

    path.call(work)
    report = verified(path, checkpoint(path))

    assert (report.findings, report.chains) == ([], 16)


def test_memory_does_not_grow_with_the_trail(path: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of the cursor, not the whole: a chain of many events costs what a short one costs."""
    long = uuid4()
    monkeypatch.setattr(streams, "PAGE", 50)

    async def peak(pipeline: PipelineSession) -> int:
        tracemalloc.start()
        await verify(pipeline)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    append(path, long, 150)
    path.call(peak)  # what is loaded once
    first = path.call(peak)
    append(path, long, 600)
    assert path.call(peak) < first * 1.5


def test_the_first_page_comes_without_a_sort(db: Database, path: Pipeline) -> None:
    append(path, uuid4(), 100)
    db.run("ANALYZE events")
    text = (Path(__file__).parents[4] / "sql/queries/events/in_order.sql").read_text()
    with db.connect() as connection:
        connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        rows = connection.execute(f"EXPLAIN {text}".encode(), {"tenant_id": db.tenant()}).fetchall()

    plan = "\n".join(str(row["QUERY PLAN"]) for row in rows)
    assert "Sort" not in plan
    assert "Index Scan" in plan


def test_a_finding_says_where(path: Pipeline, db: Database) -> None:
    chain = append(path, uuid4(), 1)
    delete(db, "event_heads", chain)

    assert verified(path).findings == [Finding("passport", chain, 1, "NO_HEAD", "a head", "none")]
