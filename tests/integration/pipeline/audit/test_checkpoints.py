"""Against a checkpoint, `audit verify` names what the trail alone cannot show; and the leaves of its tree."""

import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bpc_worker.core.audit.checkpoint_compare import Change
from bpc_worker.core.audit.event_hash import Flaw
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.audit.checkpoints import check_signature, read_checkpoint
from bpc_worker.pipeline.audit.findings import LeafFlaw
from bpc_worker.pipeline.keys import change_key, registry
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline, keyed
from tests.support.trail import append, checkpoint, delete, intruder, move_head_back, named, verified
from tests.support.worker import command


@pytest.fixture
def path(db: Database) -> Pipeline:
    return keyed(db)


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
    "DELETE FROM event_leaf_heads WHERE aggregate_type = 'passport'": (1, LeafFlaw.STRAY_LEAF),
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
    check_signature(keys, read_checkpoint(io.BytesIO(kept)))


def test_every_byte_of_a_checkpoint_counts(path: Pipeline) -> None:
    append(path, uuid4())
    kept = checkpoint(path)

    async def all_refused(pipeline: PipelineSession) -> None:
        async with pipeline.reading() as tx:
            keys = await registry(pipeline, tx)
        for at in range(len(kept)):
            changed = kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :]
            with pytest.raises(Permanent):
                check(keys, changed)

    path.call(all_refused)
    for cut in (0, 1, len(kept) // 2, len(kept) - 1):
        with pytest.raises(Permanent):
            read_checkpoint(io.BytesIO(kept[:cut]))
    with pytest.raises(Permanent):
        read_checkpoint(io.BytesIO(kept + b"\n"))


def test_a_checkpoint_of_somebody_else_is_refused(db: Database, path: Pipeline) -> None:
    other = keyed(db, "other")

    with pytest.raises(Permanent, match="the checkpoint is of tenant") as refused:
        verified(path, checkpoint(other))
    assert refused.value.code == Code.VALIDATION_ERROR


def test_only_an_active_key_signs_a_checkpoint_and_a_revoked_one_does_not_count(path: Pipeline) -> None:
    kept = checkpoint(path)
    path.call(lambda pipeline: change_key(pipeline, "development", KeyStatus.RETIRED))

    assert verified(path, kept).broken == 0
    with pytest.raises(Permanent, match="expected ACTIVE, found RETIRED"):
        checkpoint(path)
    path.call(lambda pipeline: change_key(pipeline, "development", KeyStatus.REVOKED))
    with pytest.raises(Permanent, match="is revoked") as refused:
        verified(path, kept)
    assert refused.value.code == Code.SIGNATURE_INVALID


def test_a_key_put_in_the_place_of_the_signers_is_noticed(db: Database, path: Pipeline) -> None:
    kept = checkpoint(path)
    mine = Ed25519Signer("mine", b"m" * 32).public_key
    with intruder(db) as connection:
        connection.execute("UPDATE signing_keys SET public_key = %s WHERE key_id = 'development'", [mine])

    with pytest.raises(Permanent, match="not a signature of public key"):
        verified(path, kept)


def said(db: Database, *arguments: str, code: int = 0) -> Any:
    done = command(db.url_as("bpc_reader"), "audit", "verify", "--json", *arguments)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_the_commands(db: Database, path: Pipeline, tmp_path: Path) -> None:
    gone, hurt = append(path, uuid4()), append(path, uuid4())
    keyed(db, "other")
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
