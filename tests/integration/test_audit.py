"""`audit verify` names every change of the trail; what it cannot see, it sees against a checkpoint."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from bpc_worker.core.checkpoint_compare import Change
from bpc_worker.core.event_hash import Flaw
from bpc_worker.core.signing import Ed25519Signer, KeyRegistry, KeyStatus, SignatureError, verify
from bpc_worker.evidence import Happened
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.owner.audit import streams
from bpc_worker.owner.audit.checkpoints import read_checkpoint, write_checkpoint
from bpc_worker.owner.audit.findings import Finding, LeafFlaw, Missing, Report
from bpc_worker.owner.audit.verify import verify as verify_trail
from bpc_worker.owner.keys import add_key, change_key, registry
from bpc_worker.owner.session import Owner
from tests.support.database import Database
from tests.support.pipeline import Pipeline, pipeline
from tests.support.worker import command

A_RULE = "field a: Int = 1;\nexample e: { } => expect(a, == 1);\n"

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
    return pipeline(db, rules=A_RULE)


def append(path: Pipeline, chain: UUID, count: int = 3) -> UUID:
    async def work(owner: Owner) -> None:
        async with owner.transaction() as tx:
            for number in range(count):
                happened = Happened(
                    event_type="PASSPORT_SIGNED",
                    aggregate_type="passport",
                    aggregate_id=chain,
                    payload={"n": number, "text": "ä"},
                )
                await owner.record(tx, happened)

    path.call(work)
    return chain


def verified(path: Pipeline, kept: bytes | None = None) -> Report:
    async def work(owner: Owner) -> Report:
        against = None if kept is None else read_checkpoint(io.BytesIO(kept))
        return await verify_trail(owner, against)

    return path.call(work)


def checkpoint(path: Pipeline) -> bytes:
    file = io.BytesIO()
    path.call(lambda owner: write_checkpoint(owner, file))
    return file.getvalue()


def named(report: Report) -> dict[UUID, list[tuple[int, str]]]:
    found: dict[UUID, list[tuple[int, str]]] = {}
    for finding in report.findings:
        found.setdefault(finding.aggregate_id, []).append((finding.aggregate_version, finding.flaw))
    return found


@contextmanager
def intruder(db: Database) -> Iterator[psycopg.Connection[dict[str, object]]]:
    """Whoever has the server: no trigger stops him."""
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


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


def delete(db: Database, table: str, chain: UUID, where: str = "true") -> None:
    with intruder(db) as connection:
        statement = f"DELETE FROM {table} WHERE aggregate_id = %s AND {where}"
        assert connection.execute(statement.encode(), [chain]).rowcount


def move_head_back(db: Database, chain: UUID) -> None:
    with intruder(db) as connection:
        connection.execute(
            "UPDATE event_heads h SET aggregate_version = e.aggregate_version, event_hash = e.event_hash"
            " FROM events e WHERE h.aggregate_id = %s AND e.aggregate_id = h.aggregate_id"
            " AND e.aggregate_version = (SELECT max(aggregate_version) FROM events WHERE aggregate_id = %s)",
            [chain, chain],
        )


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


def test_what_became_leaves_cannot_vanish_without_them(db: Database, path: Pipeline) -> None:
    """A chain deleted with its head, and one cut with its head moved back: the tree still has them."""
    deleted, shortened = append(path, uuid4()), append(path, uuid4())
    checkpoint(path)
    for table in ("events", "event_heads"):
        delete(db, table, deleted)
    delete(db, "events", shortened, "aggregate_version = 3")
    move_head_back(db, shortened)

    report = verified(path)
    assert named(report) == {deleted: [(1, Change.DELETED)], shortened: [(3, Change.SHORTENED)]}
    assert [each.flaw for each in report.leaf_findings] == [LeafFlaw.OTHER_EVENT]


SWAP = """
UPDATE event_leaves l SET event_id = o.event_id, event_hash = o.event_hash FROM event_leaves o
WHERE l.tenant_id = o.tenant_id AND l.leaf_index IN (2, 3) AND o.leaf_index = 5 - l.leaf_index
"""
LEAVES = {
    "DELETE FROM event_leaves WHERE leaf_index = 4": (4, LeafFlaw.NO_LEAF),
    "DELETE FROM event_leaves WHERE leaf_index = 0": (0, LeafFlaw.NO_LEAF),
    "DELETE FROM event_leaves WHERE leaf_index >= 5": (5, LeafFlaw.NO_LEAF),
    "UPDATE event_leaves SET event_hash = sha256(event_hash) WHERE leaf_index = 3": (3, LeafFlaw.OTHER_EVENT),
    "UPDATE event_leaves SET event_id = gen_random_uuid() WHERE leaf_index = 6": (6, LeafFlaw.OTHER_EVENT),
    SWAP: (6, LeafFlaw.OTHER_ROOT),
}


@pytest.mark.parametrize("statement", LEAVES)
def test_a_change_of_the_leaves_is_named(db: Database, path: Pipeline, statement: str) -> None:
    append(path, uuid4(), 6)
    kept = checkpoint(path)
    assert (verified(path, kept).valid, verified(path).leaves) == (True, 7)
    with intruder(db) as connection:
        connection.execute("ALTER TABLE event_leaves DROP CONSTRAINT event_leaves_event_id_key")
        assert connection.execute(statement.encode()).rowcount

    [found] = verified(path, kept).leaf_findings
    assert (found.leaf_index, found.flaw) == LEAVES[statement]
    assert verified(path).valid == (found.flaw == LeafFlaw.OTHER_ROOT), "only the root tells the order"
    if found.flaw == LeafFlaw.NO_LEAF:
        with pytest.raises(Permanent, match=r"the trail is broken: .*`bpc-worker audit verify` names"):
            checkpoint(path)


def test_what_the_trail_alone_cannot_show_a_checkpoint_shows(db: Database, path: Pipeline) -> None:
    deleted, shortened, rewritten, grown = (append(path, uuid4()) for _ in range(4))
    kept = checkpoint(path)

    append(path, grown)
    begun = append(path, uuid4())
    delete(db, "events", deleted)
    delete(db, "event_heads", deleted)
    delete(db, "events", shortened, "aggregate_version = 3")
    move_head_back(db, shortened)
    delete(db, "events", rewritten)
    delete(db, "event_heads", rewritten)
    append(path, rewritten, 4)  # a chain that holds, of other events
    with intruder(db) as connection:
        connection.execute("DELETE FROM event_leaves")
        connection.execute("DELETE FROM event_leaf_heads")

    assert verified(path).valid
    assert [each.flaw for each in verified(path, kept).leaf_findings] == [LeafFlaw.NO_LEAF]
    assert named(verified(path, kept)) == {
        deleted: [(1, Change.DELETED)],
        shortened: [(3, Change.SHORTENED)],
        rewritten: [(3, Change.REWRITTEN)],
    }
    assert {begun, grown}.isdisjoint(named(verified(path, kept)))


def test_both_are_named_what_is_broken_and_what_is_gone_since(db: Database, path: Pipeline) -> None:
    chain = append(path, uuid4())
    kept = checkpoint(path)
    delete(db, "events", chain, "aggregate_version = 3")

    assert named(verified(path, kept)) == {chain: [(3, Flaw.LOST_TAIL), (3, Change.SHORTENED)]}


def check(keys: KeyRegistry, kept: bytes) -> None:
    found = read_checkpoint(io.BytesIO(kept))
    verify(keys, found.taken.signing_key_id, found.hash, found.signature)


def test_every_byte_of_a_checkpoint_counts(path: Pipeline) -> None:
    append(path, uuid4())
    kept = checkpoint(path)

    async def all_refused(owner: Owner) -> None:
        async with owner.reading() as tx:
            keys = await registry(owner, tx)
        for at in range(len(kept)):
            changed = kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :]
            with pytest.raises((Permanent, SignatureError)):
                check(keys, changed)

    path.call(all_refused)
    for cut in (0, 1, len(kept) // 2, len(kept) - 1):
        with pytest.raises(Permanent):
            read_checkpoint(io.BytesIO(kept[:cut]))
    with pytest.raises(Permanent):
        read_checkpoint(io.BytesIO(kept + b"\n"))


def test_a_checkpoint_of_somebody_else_is_refused(db: Database, path: Pipeline) -> None:
    other = pipeline(db, "other", rules=A_RULE)

    with pytest.raises(Permanent, match="the checkpoint is of tenant") as refused:
        verified(path, checkpoint(other))
    assert refused.value.code == Code.VALIDATION_ERROR


def test_only_an_active_key_signs_a_checkpoint_and_a_revoked_one_does_not_count(path: Pipeline) -> None:
    kept = checkpoint(path)
    path.call(lambda owner: change_key(owner, "development", KeyStatus.RETIRED))

    assert verified(path, kept).broken == 0
    with pytest.raises(Permanent, match="expected ACTIVE, found RETIRED"):
        checkpoint(path)
    path.call(lambda owner: change_key(owner, "development", KeyStatus.REVOKED))
    with pytest.raises(Permanent, match="is revoked") as refused:
        verified(path, kept)
    assert refused.value.code == Code.SIGNATURE_INVALID


def test_a_key_put_in_the_place_of_the_signers_is_noticed(db: Database, path: Pipeline) -> None:
    kept = checkpoint(path)
    mine = Ed25519Signer("mine", b"m" * 32).public_key
    path.call(lambda owner: add_key(owner, "mine", mine))
    with intruder(db) as connection:
        connection.execute(
            "UPDATE signing_keys SET public_key = (SELECT public_key FROM signing_keys WHERE key_id = 'mine')"
            " WHERE key_id = 'development'"
        )

    with pytest.raises(Permanent, match="not a signature of public key"):
        verified(path, kept)


def test_the_order_of_the_walk_is_that_of_the_database(path: Pipeline) -> None:
    """Types whose order depends on the collation: an underscore before a letter, or none at all."""

    async def work(owner: Owner) -> None:
        async with owner.transaction() as tx:
            for kind in ("rules", "rule_set", "rulez", "rule_", "signing_keys"):
                for _ in range(3):
                    happened = Happened(
                        event_type="KEY_ADDED", aggregate_type=kind, aggregate_id=uuid4(), payload={}
                    )
                    await owner.record(tx, happened)

    path.call(work)
    report = verified(path, checkpoint(path))

    assert (report.findings, report.chains) == ([], 16)


def test_memory_does_not_grow_with_the_trail(path: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of the cursor, not the whole: a chain of many events costs what a short one costs."""
    long = uuid4()
    monkeypatch.setattr(streams, "PAGE", 50)

    async def peak(owner: Owner) -> int:
        tracemalloc.start()
        await verify_trail(owner)
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
    text = (Path(__file__).parents[2] / "sql/queries/events/in_order.sql").read_text()
    with db.connect() as connection:
        connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        rows = connection.execute(f"EXPLAIN {text}".encode(), {"tenant_id": db.tenant()}).fetchall()

    plan = "\n".join(str(row["QUERY PLAN"]) for row in rows)
    assert "Sort" not in plan
    assert "Index Scan" in plan


def said(db: Database, *arguments: str, code: int = 0) -> Any:
    done = command(db.url_as("bpc_reader"), "audit", "verify", "--json", *arguments)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_the_commands(db: Database, path: Pipeline, tmp_path: Path) -> None:
    gone, hurt = append(path, uuid4()), append(path, uuid4())
    pipeline(db, "other", rules=A_RULE)
    out = tmp_path / "acme.json"
    made = command(db.url_as("bpc_app"), "audit", "checkpoint", "--tenant", "acme", "--out", str(out))
    assert made.returncode == 0, made.stderr
    assert "3 heads" in made.stdout

    twice = command(db.url_as("bpc_app"), "audit", "checkpoint", "--tenant", "acme", "--out", str(out))
    assert (twice.returncode, [each.name for each in tmp_path.iterdir()]) == (2, ["acme.json"])
    assert "never overwritten" in twice.stderr
    assert [each["tenant"] for each in said(db)["tenants"]] == ["acme", "other"]
    assert said(db, "--against", str(out))["valid"]

    delete(db, "events", gone)
    delete(db, "event_heads", gone)
    with intruder(db) as connection:
        connection.execute("UPDATE events SET actor_id = 'x' WHERE aggregate_id = %s", [hurt])
    [report] = said(db, "--against", str(out), code=1)["tenants"]
    assert {(each["aggregate_id"], each["flaw"]) for each in report["findings"]} == {
        (str(gone), "DELETED"),
        (str(hurt), "WRONG_HASH"),
    }
    shown = command(db.url_as("bpc_reader"), "audit", "verify")
    assert shown.returncode == 1
    assert f"BROKEN  acme  passport {hurt} version 1  WRONG_HASH: expected " in shown.stdout
    assert "other: 1 chains, 1 events: all hold" in shown.stdout

    out.write_bytes(out.read_bytes().replace(b'"tree_size":', b'"tree_size":1', 1))
    forged = command(db.url_as("bpc_reader"), "audit", "verify", "--against", str(out))
    assert forged.returncode == 1
    assert "SIGNATURE_INVALID" in forged.stderr
    assert command(db.url_as("bpc_reader"), "audit", "verify", "--tenant", "nobody").returncode == 3
    assert command(db.url_as("bpc_reader"), "audit", "verify", "--against", "/none").returncode == 2


def test_a_finding_says_where(path: Pipeline, db: Database) -> None:
    chain = append(path, uuid4(), 1)
    delete(db, "event_heads", chain)

    assert verified(path).findings == [Finding("passport", chain, 1, "NO_HEAD", "a head", "none")]
