"""Proofs over the tree of events: the golden ones hold, by the RFC's steps too; what is changed does not."""

import json
from typing import Any

import pytest

from bpc_worker.core.audit.event_proof import (
    Consistency,
    Inclusion,
    ProofError,
    parse_proof,
    proof_bytes,
    verify_proof,
)
from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.signing import KeyRegistry, KeyStatus, RegisteredKey
from tests.support import rfc9162
from tests.vectors import load

KEY = bytes.fromhex(load("event_tree/inclusion")["input"]["public_key"])
KEYS = KeyRegistry({"key-2027-1": RegisteredKey(KEY, KeyStatus.ACTIVE)})
INCLUSIONS: list[str] = load("event_tree/inclusion")["expected"]
CONSISTENCIES: list[str] = load("event_tree/consistency")["expected"]
EXPECTED = load("event_tree/checkpoints")["expected"]


def flipped(digest: str) -> str:
    return f"{int(digest, 16) ^ 1:064x}"


def refused(proof: dict[str, Any]) -> ProofError:
    with pytest.raises(ProofError) as error:
        verify_proof(parse_proof(encode(proof)), KEYS)
    return error.value


@pytest.mark.parametrize("index", range(len(INCLUSIONS)))
def test_golden_proofs_of_inclusion_hold(index: int) -> None:
    proof = parse_proof(INCLUSIONS[index].encode())
    verify_proof(proof, KEYS)

    assert isinstance(proof, Inclusion)
    assert proof_bytes(proof).decode() == INCLUSIONS[index]
    assert proof.event_hash.hex() == EXPECTED["event_hashes"][index]
    assert str(proof.event_id).startswith("01a4008")
    tree = proof.checkpoint.statement.tree
    leaf = rfc9162.leaf(proof.event_hash)
    assert leaf.hex() == EXPECTED["leaf_hashes"][index]
    assert rfc9162.inclusion_holds(leaf, index, tree.size, proof.path, tree.root)
    assert not rfc9162.inclusion_holds(leaf, index + 1, tree.size, proof.path, tree.root)


@pytest.mark.parametrize("text", CONSISTENCIES)
def test_golden_proofs_of_consistency_hold(text: str) -> None:
    proof = parse_proof(text.encode())
    verify_proof(proof, KEYS)

    assert isinstance(proof, Consistency)
    assert proof_bytes(proof).decode() == text
    old, new = proof.old.statement.tree, proof.new.statement.tree
    assert rfc9162.consistency_holds(old.size, new.size, old.root, new.root, proof.path)
    assert not rfc9162.consistency_holds(old.size, new.size + 100, old.root, new.root, proof.path)


@pytest.mark.parametrize("case", load("event_tree/refused")["cases"], ids=lambda case: case["name"])
def test_golden_proofs_that_must_not_be_accepted(case: dict[str, Any]) -> None:
    assert refused(json.loads(case["proof"])).path == case["place"]


@pytest.mark.parametrize("text", [*INCLUSIONS, CONSISTENCIES[0]])
def test_every_hash_of_a_path_counts_and_its_place(text: str) -> None:
    good = json.loads(text)
    path: list[str] = good["path"]
    wrong = [
        *([*path[:at], flipped(path[at]), *path[at + 1 :]] for at in range(len(path))),
        *([*path[:at], *path[at + 1 :]] for at in range(len(path))),
        *([*path[:at], path[at + 1], path[at], *path[at + 2 :]] for at in range(len(path) - 1)),
        [*path, path[0]],
        [],
    ]
    for each in wrong:
        assert each != path
        assert refused(good | {"path": each}).path == "/path"


@pytest.mark.parametrize("text", [INCLUSIONS[4], CONSISTENCIES[0]])
def test_every_byte_of_a_proof_counts(text: str) -> None:
    data = text.encode()
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(ProofError):
            verify_proof(parse_proof(changed), KEYS)


def test_a_key_that_does_not_count_proves_nothing() -> None:
    revoked = KeyRegistry({"key-2027-1": RegisteredKey(KEY, KeyStatus.REVOKED)})
    for text in (INCLUSIONS[0], CONSISTENCIES[0]):
        for registry in (revoked, KeyRegistry({})):
            with pytest.raises(ProofError, match="signature: key 'key-2027-1' is"):
                verify_proof(parse_proof(text.encode()), registry)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b'{"proof_version":"BPC-PROOF-1"}', b"\xff"])
def test_bytes_that_are_no_proof(data: bytes) -> None:
    with pytest.raises(ProofError):
        parse_proof(data)
