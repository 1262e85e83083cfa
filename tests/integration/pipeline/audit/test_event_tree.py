"""The tree over a tenant's events: numbered while others append, proved from it, checked without it."""

import asyncio
import io
import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from click.testing import CliRunner

from bpc_worker import registry
from bpc_worker.cli import main
from bpc_worker.config import load as config
from bpc_worker.core.audit.event_proof import Consistency, Inclusion, parse_proof, proof_bytes, verify_proof
from bpc_worker.core.base.signing import KeyRegistry
from bpc_worker.domain.events import Happened
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline import keys
from bpc_worker.pipeline.audit.checkpoints import Kept, read_checkpoint, write_checkpoint
from bpc_worker.pipeline.audit.leaves import number_events
from bpc_worker.pipeline.audit.proofs import prove_consistency, prove_inclusion
from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.pipeline.session import PipelineSession, open_pipeline
from tests.support import rfc9162
from tests.support.database import Database
from tests.support.pipeline import Pipeline, keyed
from tests.support.worker import command


@pytest.fixture
def path(db: Database) -> Pipeline:
    return keyed(db)


def tell(number: int, chain: UUID) -> Happened:
    return Happened(
        event_type="PASSPORT_SIGNED", aggregate_type="passport", aggregate_id=chain, payload={"n": number}
    )


async def append(pipeline: PipelineSession, chain: UUID, count: int = 3) -> None:
    for number in range(count):
        async with pipeline.transaction() as tx:
            await pipeline.record(tx, tell(number, chain))


def appended(path: Pipeline, count: int = 3, chain: UUID | None = None) -> UUID:
    found = chain or uuid4()
    path.call(lambda pipeline: append(pipeline, found, count))
    return found


def taken(path: Pipeline) -> Kept:
    file = io.BytesIO()
    path.call(lambda pipeline: write_checkpoint(pipeline, file))
    return read_checkpoint(file)


def event_ids(db: Database) -> list[UUID]:
    return [UUID(str(row["event_id"])) for row in db.run("SELECT event_id FROM events ORDER BY event_id")]


def leaves(db: Database) -> list[tuple[int, bytes]]:
    rows = db.run("SELECT leaf_index, event_hash FROM event_leaves ORDER BY leaf_index")
    return [(row["leaf_index"], row["event_hash"]) for row in rows]  # type: ignore[misc]


def test_every_event_is_proved_and_the_steps_of_the_rfc_agree(db: Database, path: Pipeline) -> None:
    for count in (1, 2, 5):
        appended(path, count)
    kept = taken(path)
    registry_ = path.call(_registry)
    assert kept.statement is not None
    tree = kept.statement.tree
    assert tree.size == 9

    for event_id in event_ids(db):
        made = path.call(lambda pipeline, wanted=event_id: prove_inclusion(pipeline, wanted, kept))  # type: ignore[misc]
        proof = parse_proof(proof_bytes(made))
        verify_proof(proof, registry_)
        assert isinstance(proof, Inclusion)
        assert proof.event_id == event_id
        leaf = rfc9162.leaf(proof.event_hash)
        assert rfc9162.inclusion_holds(leaf, proof.leaf_index, tree.size, proof.path, tree.root)


async def _registry(pipeline: PipelineSession) -> KeyRegistry:
    async with pipeline.reading() as tx:
        return await keys.registry(pipeline, tx)


def test_a_later_checkpoint_is_proved_to_begin_with_every_earlier_one(db: Database, path: Pipeline) -> None:
    chain, kept = uuid4(), [taken(path)]
    for count in (1, 2, 4, 3):
        appended(path, count, chain)
        appended(path, 1)
        kept.append(taken(path))
    registry_ = path.call(_registry)

    for at, new in enumerate(kept):
        for old in kept[: at + 1]:
            made = path.call(lambda pipeline, old=old, new=new: prove_consistency(pipeline, old, new))  # type: ignore[misc]
            proof = parse_proof(proof_bytes(made))
            verify_proof(proof, registry_)
            assert isinstance(proof, Consistency)
            one, two = proof.old.statement.tree, proof.new.statement.tree
            assert rfc9162.consistency_holds(one.size, two.size, one.root, two.root, proof.path)
    with pytest.raises(Permanent, match="name the older one first"):
        path.call(lambda pipeline: prove_consistency(pipeline, kept[2], kept[1]))
    assert [index for index, _ in leaves(db)] == [*range(len(event_ids(db)))]


def test_leaves_are_numbered_once_while_others_append(db: Database) -> None:
    """Six appenders, four who number at the same time: no gap, nothing twice, chains in their order."""
    path = keyed(db)

    async def all_at_once() -> None:
        settings, handlers, url = config.load(env={}), registry.load(), db.url_as("bpc_app")

        async def act(number: int) -> None:
            async with open_pipeline(settings, handlers, url, "acme") as pipeline:
                if number < 6:
                    await append(pipeline, UUID(int=number % 3 + 1), 12)
                    return
                for _ in range(6):
                    await number_events(pipeline)

        await asyncio.gather(*map(act, range(10)))

    asyncio.run(all_at_once())
    before = leaves(db)
    kept = taken(path)

    assert leaves(db)[: len(before)] == before
    assert [index for index, _ in leaves(db)] == [*range(73)]
    assert kept.statement is not None
    assert kept.statement.tree.size == 73
    order = db.run(
        "SELECT aggregate_id, array_agg(aggregate_version ORDER BY leaf_index) AS versions"
        " FROM event_leaves JOIN events USING (event_id) GROUP BY aggregate_id"
    )
    for row in order:
        assert isinstance(row["versions"], list)
        assert row["versions"] == sorted(row["versions"])
    assert path.call(lambda pipeline: verify(pipeline, kept)).valid


def test_what_cannot_be_proved_is_said(db: Database, path: Pipeline) -> None:
    appended(path, 2)
    kept = taken(path)
    appended(path, 1)
    late = event_ids(db)[-1]
    other = keyed(db, "other")
    [theirs] = db.run("SELECT event_id FROM events WHERE tenant_id = %s", [db.tenant("other")])

    for event_id, code, words in (
        (late, Code.VALIDATION_ERROR, "came after the checkpoint; prove it against a later one"),
        (uuid4(), Code.NOT_FOUND, "no such event of the tenant"),
        (theirs["event_id"], Code.NOT_FOUND, "no such event of the tenant"),
    ):
        with pytest.raises(Permanent, match=words) as refused:
            path.call(lambda pipeline, wanted=event_id: prove_inclusion(pipeline, wanted, kept))  # type: ignore[misc]
        assert refused.value.code == code
    with pytest.raises(Permanent, match="the checkpoint is of tenant"):
        other.call(lambda pipeline: prove_inclusion(pipeline, late, kept))
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE event_leaves SET event_hash = sha256(event_hash) WHERE leaf_index = 0")
    with pytest.raises(Permanent, match="is not that of the checkpoint: events or their order were changed"):
        path.call(lambda pipeline: prove_consistency(pipeline, kept, kept))


def run(db: Database, *arguments: str, code: int = 0) -> str:
    done = command(db.url_as("bpc_app"), *arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def offline(*arguments: str, code: int = 0) -> str:
    """Without a database: whoever has just the files."""
    done = CliRunner(env={"BPC_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}).invoke(main, arguments)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout if code == 0 else done.output


def test_the_commands(db: Database, path: Pipeline, tmp_path: Path) -> None:
    chain = appended(path, 2)
    one, two, late, mine, both, key_file = (
        str(tmp_path / name)
        for name in ("1.json", "2.json", "3.json", "event.json", "both.json", "keys.json")
    )
    run(db, "audit", "checkpoint", "--tenant", "acme", "--out", one)
    appended(path, 2, chain)
    made = json.loads(run(db, "audit", "checkpoint", "--tenant", "acme", "--out", two, "--json"))
    assert (made["tree_size"], made["heads_count"]) == (5, 2)
    run(db, "keys", "export", "--tenant", "acme", "--out", key_file)
    lines = run(db, "audit", "events", str(chain), "--tenant", "acme").splitlines()
    assert [line.split()[-2] for line in lines] == ["1", "2", "3", "4"]
    listed = [
        json.loads(line) for line in run(db, "audit", "events", "--tenant", "acme", "--json").splitlines()
    ]
    assert [each["event_id"] for each in listed][1:] == [line.split()[0] for line in lines]
    event_id = listed[2]["event_id"]

    assert "3 hashes" in run(db, "audit", "prove-inclusion", event_id, "--checkpoint", two, "--out", mine)
    told = json.loads(run(db, "audit", "prove-consistency", one, two, "--out", both, "--json"))
    assert told["bytes"] == Path(both).stat().st_size
    assert "never overwritten" in run(
        db, "audit", "prove-inclusion", event_id, "--checkpoint", two, "--out", mine, code=2
    )
    assert "came after" in run(
        db, "audit", "prove-inclusion", listed[-1]["event_id"], "--checkpoint", one, "--out", late, code=2
    )
    assert not Path(late).exists()

    with_keys = ("--keys", key_file)
    shown = json.loads(offline("audit", "check-proof", mine, *with_keys, "--checkpoint", two, "--json"))
    assert (shown["valid"], shown["event_id"], shown["tree_size"]) == (True, event_id, 5)
    assert "valid" in offline(
        "audit", "check-proof", both, *with_keys, "--checkpoint", one, "--checkpoint", two
    )
    assert "about another checkpoint" in offline(
        "audit", "check-proof", mine, *with_keys, "--checkpoint", one, code=1
    )
    Path(mine).write_bytes(Path(mine).read_bytes().replace(b"PASSPORT_SIGNED", b"PASSPORT_SIGNEX"))
    assert "not valid: /path: root: expected" in offline("audit", "check-proof", mine, *with_keys, code=1)
    assert "name a file of" in offline("audit", "check-proof", str(tmp_path / "none"), *with_keys, code=2)

    compared = offline("audit", "compare", one, two, *with_keys).splitlines()
    assert compared[0].startswith("signed with key development, fingerprint ")
    assert compared[1:] == ["1 chains are the same, 1 grew, 0 began since: nothing is missing"]
    assert "name the older one first" in offline("audit", "compare", two, one, *with_keys, code=2)
    assert "tree_root" not in offline("audit", "compare", one, one, *with_keys, "--json")
    Path(two).write_bytes(Path(two).read_bytes().replace(b'"tree_size":5', b'"tree_size":6'))
    assert "SIGNATURE_INVALID" in offline("audit", "compare", one, two, *with_keys, code=1)


def test_two_checkpoints_tell_what_is_gone(db: Database, path: Pipeline, tmp_path: Path) -> None:
    chains = [appended(path, 3) for _ in range(3)]
    files = [str(tmp_path / name) for name in ("1.json", "2.json", "keys.json")]
    run(db, "audit", "checkpoint", "--tenant", "acme", "--out", files[0])
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        for table in ("event_leaves", "event_leaf_heads"):
            connection.execute(f"DELETE FROM {table}".encode())
        for table in ("events", "event_heads"):
            connection.execute(f"DELETE FROM {table} WHERE aggregate_id = %s".encode(), [chains[0]])
    run(db, "audit", "checkpoint", "--tenant", "acme", "--out", files[1])
    run(db, "keys", "export", "--tenant", "acme", "--out", files[2])

    told = offline("audit", "compare", *files[:2], "--keys", files[2], code=1)
    assert f"BROKEN  passport {chains[0]} version 1  DELETED: expected version 3" in told
    assert "BROKEN  the tree had 10 leaves and has 7" in told
    shorter = tmp_path / "short.json"
    short = json.loads(Path(files[0]).read_bytes())
    del short["heads"]
    shorter.write_text(json.dumps(short, sort_keys=True, separators=(",", ":")))
    told = offline("audit", "compare", str(shorter), files[1], "--keys", files[2], code=1)
    assert "tells of its tree only" in told
