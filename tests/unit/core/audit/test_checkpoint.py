"""BPC-CHECKPOINT-3 as it is written and read; the versions before it are not."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.audit.checkpoint import (
    ChainHead,
    CheckpointError,
    CheckpointWriter,
    Statement,
    Taken,
    Tree,
    parse_signed,
)
from bpc_worker.core.audit.checkpoint_reader import CheckpointReader
from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.forms import parse_hash
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer
from tests.vectors import load

TAKEN = Taken(tenant_id=UUID(int=1), taken_at=datetime(2027, 3, 2, tzinfo=UTC), signing_key_id="key-2027-1")
TREE = Tree(size=12, root=sha256(b"root"))
SIGNATURE = bytes(range(64))
HEADS = st.lists(
    st.builds(
        ChainHead,
        aggregate_type=st.from_regex(r"[a-z][a-z_]{1,20}", fullmatch=True),
        aggregate_id=st.uuids(),
        aggregate_version=st.integers(1, 2**31 - 1),
        event_hash=st.binary(min_size=32, max_size=32),
    ),
    unique_by=lambda head: head.key,
).map(lambda heads: sorted(heads, key=lambda head: head.key))


def a_head(number: int = 1, aggregate_type: str = "passport", version: int = 3) -> ChainHead:
    return ChainHead(
        aggregate_type=aggregate_type,
        aggregate_id=UUID(int=number),
        aggregate_version=version,
        event_hash=sha256(b"%d" % number),
    )


def written(heads: Iterable[ChainHead], taken: Taken = TAKEN) -> tuple[bytes, Statement]:
    writer = CheckpointWriter(taken)
    parts = [writer.beginning(), *map(writer.head, heads), writer.ending(TREE, SIGNATURE)]
    return b"".join(parts), writer.statement(TREE)


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(HEADS, st.integers(1, 900))
def test_what_is_written_is_read(heads: list[ChainHead], size: int) -> None:
    data, statement = written(heads)
    reader = CheckpointReader(in_pieces(data, size))

    assert list(reader) == heads
    assert (reader.statement, reader.signature, reader.listed) == (statement, SIGNATURE, True)
    assert statement.taken == TAKEN


def test_without_its_list_it_is_the_same_checkpoint() -> None:
    data, statement = written([a_head(1), a_head(2)])
    members = json.loads(data)
    del members["heads"]
    short = encode(members)
    reader = CheckpointReader([short])

    assert short == encode(statement.signed(SIGNATURE))
    assert list(reader) == []
    assert (reader.statement, reader.listed) == (statement, False)
    assert parse_signed(members) == (statement, SIGNATURE)


@pytest.mark.parametrize("case", load("event_tree/checkpoints")["expected"]["checkpoints"])
def test_golden_vectors(case: dict[str, Any]) -> None:
    seed = parse_hash(load("event_tree/checkpoints")["input"]["seed"])
    reader = CheckpointReader([case["signed"].encode()])
    heads = list(reader)
    writer = CheckpointWriter(reader.statement.taken)
    parts = [writer.beginning(), *map(writer.head, heads)]
    statement = writer.statement(reader.statement.tree)

    assert statement == reader.statement
    assert statement.document().decode() == case["statement"]
    assert statement.hash() == parse_hash(case["sha256"])
    signer = Ed25519Signer("key-2027-1", seed)
    assert reader.signature == signer.sign(Kind.CHECKPOINT, statement.document())
    assert b"".join([*parts, writer.ending(statement.tree, reader.signature)]).decode() == case["signed"]
    assert encode(statement.signed(reader.signature)).decode() == case["without_heads"]


@pytest.mark.parametrize(
    "heads",
    [
        [a_head(2), a_head(1)],
        [a_head(1), a_head(1)],
        [a_head(1, "rules"), a_head(2, "passport")],
        [a_head(1, "Passport")],
        [a_head(1, version=0)],
        [ChainHead(aggregate_type="rules", aggregate_id=UUID(int=1), aggregate_version=1, event_hash=b"")],
    ],
)
def test_heads_that_make_no_checkpoint(heads: list[ChainHead]) -> None:
    with pytest.raises(CheckpointError):
        written(heads)


def test_a_signature_and_a_root_have_their_length() -> None:
    with pytest.raises(CheckpointError):
        CheckpointWriter(TAKEN).ending(TREE, b"short")
    with pytest.raises(CheckpointError, match="/tree_root"):
        CheckpointWriter(TAKEN).ending(replace(TREE, root=b"short"), SIGNATURE)


def broken() -> dict[str, bytes]:
    data, _ = written([a_head(1), a_head(2)])
    one, _ = written([a_head(1)])
    first, second = (encode_head(number) for number in (1, 2))
    short = b'{"checkpoint_version":"BPC-CHECKPOINT-3",' + data[data.index(b'"heads_count"') :]
    return {
        "nothing": b"",
        "another format": data.replace(b"CHECKPOINT-3", b"CHECKPOINT-4"),
        "the first version": data.replace(b"CHECKPOINT-3", b"CHECKPOINT-1"),
        "the second version": data.replace(b"CHECKPOINT-3", b"CHECKPOINT-2"),
        "a blank": data.replace(b',"heads"', b', "heads"'),
        "a line end": data + b"\n",
        "cut": data[:-1],
        "cut inside a head": data[: data.index(second) + 20],
        "no comma": data.replace(b"},{", b"}{"),
        "one too many": one.replace(b"}],", b"},],"),
        "twice": data.replace(second, first),
        "out of order": data.replace(second, b"?").replace(first, second).replace(b"?", first),
        "a head less": data.replace(b"," + second, b""),
        "another count": data.replace(b'"heads_count":2', b'"heads_count":3'),
        "another version of a head": data.replace(b'version":3', b'version":4', 1),
        "a member more": data.replace(b',"tenant_id"', b',"tenant":1,"tenant_id"'),
        "not canonical": data.replace(b'"signing_key_id":"key', b'"signing_key_id":"\\u006bey'),
        "long": data.replace(b"key-2027-1", b"k" * 5000),
        "long without a list": short.replace(b"key-2027-1", b"k" * 5000),
        "a version with zeros": data.replace(b'version":3', b'version":03'),
        "a size that is no number": data.replace(b'"tree_size":12', b'"tree_size":"12"'),
    }


def encode_head(number: int) -> bytes:
    head = a_head(number)
    return encode(
        {
            "aggregate_id": str(head.aggregate_id),
            "aggregate_type": head.aggregate_type,
            "aggregate_version": head.aggregate_version,
            "event_hash": head.event_hash.hex(),
        }
    )


@pytest.mark.parametrize("what", broken())
def test_bytes_that_are_no_checkpoint(what: str) -> None:
    data = broken()[what]
    assert data != written([a_head(1), a_head(2)])[0]

    for size in (1, 100, 10_000):
        with pytest.raises(CheckpointError):
            list(CheckpointReader(in_pieces(data, size)))


def test_an_error_says_where() -> None:
    data, _ = written([a_head(1)])

    with pytest.raises(CheckpointError, match=r"byte 50: expected a head, found '\[\{"):
        list(CheckpointReader([data.replace(b"[", b"[[")]))
    with pytest.raises(CheckpointError, match="/heads_count: expected 2 heads, found 1"):
        list(CheckpointReader([data.replace(b'"heads_count":1', b'"heads_count":2')]))
    with pytest.raises(CheckpointError, match="/heads_sha256: expected "):
        list(CheckpointReader([data.replace(b'version":3', b'version":4')]))
