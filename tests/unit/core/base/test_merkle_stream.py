"""One pass over the leaves gives what the whole tree gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.merkle import MerkleError, build, consistency_proof, inclusion_path, leaf_hash
from bpc_worker.core.base.merkle_stream import RangeHashes, TreeHash, consistency_ranges, inclusion_ranges
from tests.vectors import load

LEAVES = [leaf_hash(b"%d" % number) for number in range(70)]


def hashes(ranges: list[range], size: int) -> list[bytes]:
    found = RangeHashes(ranges)
    for leaf in LEAVES[:size]:
        found.add(leaf)
    return found.hashes()


def test_the_root_at_every_size_is_that_of_the_tree() -> None:
    tree = TreeHash()
    for size in range(len(LEAVES)):
        assert (tree.size, tree.root) == (size, build(LEAVES[:size]).root)
        tree.add(LEAVES[size])


def test_golden_vectors_give_their_roots_paths_and_proofs() -> None:
    vector = load("merkle/trees")
    leaves = [leaf_hash(bytes.fromhex(leaf)) for leaf in vector["input"]["leaves"]]
    for case in vector["expected"]["inclusion"]:
        found = RangeHashes(inclusion_ranges(case["index"], case["size"]))
        for leaf in leaves[: case["size"]]:
            found.add(leaf)
        assert [each.hex() for each in found.hashes()] == case["path"]
    for case in vector["expected"]["consistency"]:
        found = RangeHashes(consistency_ranges(case["old"], case["new"]))
        for leaf in leaves[: case["new"]]:
            found.add(leaf)
        assert [each.hex() for each in found.hashes()] == case["proof"]


def test_paths_and_proofs_of_all_small_trees() -> None:
    for size in range(1, 20):
        tree = build(LEAVES[:size])
        for index in range(size):
            assert hashes(inclusion_ranges(index, size), size) == inclusion_path(tree, index)
            assert hashes(consistency_ranges(index + 1, size), size) == consistency_proof(tree, index + 1)


@given(st.integers(1, 70), st.data())
def test_paths_and_proofs_are_those_of_the_tree(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    tree = build(LEAVES[:size])

    assert hashes(inclusion_ranges(index, size), size) == inclusion_path(tree, index)
    assert hashes(consistency_ranges(index + 1, size), size) == consistency_proof(tree, index + 1)


def test_what_no_tree_has_is_refused() -> None:
    for index in (-1, 5):
        with pytest.raises(MerkleError, match="leaf index"):
            inclusion_ranges(index, 5)
    for old_size in (0, 6):
        with pytest.raises(MerkleError, match="old size"):
            consistency_ranges(old_size, 5)
