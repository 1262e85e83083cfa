from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.canonical_json import encode
from bpc_worker.core.checkpoint import (
    ChainHead,
    CheckpointError,
    CheckpointReader,
    CheckpointWriter,
    Taken,
)
from bpc_worker.core.forms import parse_hash, parse_timestamp, parse_uuid
from bpc_worker.core.hashing import sha256
from bpc_worker.core.signing import Ed25519Signer
from tests.vectors import load

TAKEN = Taken(tenant_id=UUID(int=1), taken_at=datetime(2027, 3, 2, tzinfo=UTC), signing_key_id="key-2027-1")
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


def written(heads: Iterable[ChainHead], taken: Taken = TAKEN) -> tuple[bytes, bytes]:
    writer = CheckpointWriter(taken)
    parts = [writer.beginning(), *map(writer.head, heads), writer.ending(SIGNATURE)]
    return b"".join(parts), writer.hash()


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(HEADS, st.integers(1, 900))
def test_what_is_written_is_read(heads: list[ChainHead], size: int) -> None:
    data, digest = written(heads)
    reader = CheckpointReader(in_pieces(data, size))

    assert list(reader) == heads
    assert (reader.taken, reader.signature, reader.hash) == (TAKEN, SIGNATURE, digest)


@pytest.mark.parametrize("name", ["three_heads", "no_heads"])
def test_golden_vectors(name: str) -> None:
    vector = load(f"checkpoint/{name}")
    signer = Ed25519Signer("key-2027-1", parse_hash(vector["input"]["seed"]))
    expected = vector["expected"]
    reader = CheckpointReader([expected["signed"].encode()])
    heads = list(reader)
    writer = CheckpointWriter(reader.taken)
    parts = [writer.beginning(), *map(writer.head, heads)]

    assert reader.hash == writer.hash() == parse_hash(expected["sha256"])
    assert reader.signature == signer.sign(reader.hash)
    assert b"".join([*parts, writer.ending(reader.signature)]).decode() == expected["signed"]
    assert {head.aggregate_id for head in heads} == {
        parse_uuid(head["aggregate_id"]) for head in vector["input"]["heads"]
    }
    assert reader.taken.taken_at == parse_timestamp("2027-03-02T00:00:00.000000Z")


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


def test_a_signature_has_its_length() -> None:
    with pytest.raises(CheckpointError):
        CheckpointWriter(TAKEN).ending(b"short")


def broken() -> dict[str, bytes]:
    data, _ = written([a_head(1), a_head(2)])
    one, _ = written([a_head(1)])
    first, second = (encode_head(number) for number in (1, 2))
    return {
        "nothing": b"",
        "another format": b'{"checkpoint_version":"BPC-CHECKPOINT-2"' + data[40:],
        "a blank": data.replace(b',"heads"', b', "heads"'),
        "a line end": data + b"\n",
        "cut": data[:-1],
        "cut inside a head": data[: data.index(second) + 20],
        "no comma": data.replace(b"},{", b"}{"),
        "one too many": one.replace(b"}],", b"},],"),
        "twice": data.replace(second, first),
        "out of order": data.replace(second, b"?").replace(first, second).replace(b"?", first),
        "a member more": data.replace(b',"tenant_id"', b',"tenant":1,"tenant_id"'),
        "not canonical": data.replace(b'"signing_key_id":"key', b'"signing_key_id":"\\u006bey'),
        "long": data.replace(b"key-2027-1", b"k" * 5000),
        "a version with zeros": data.replace(b'version":3', b'version":03'),
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
