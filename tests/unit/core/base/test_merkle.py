from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.merkle import (
    MerkleError,
    MerkleTree,
    build,
    consistency_proof,
    inclusion_path,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)
from tests.support import rfc9162
from tests.vectors import load

# Leaves and the root of each number of them, as published with the reference of certificate transparency.
PUBLISHED = [
    ("", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
    ("00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
    ("10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
    ("2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
    ("3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
    ("40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
    ("5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
    ("606162636465666768696a6b6c6d6e6f", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
]

sizes = st.integers(1, 70)


def a_tree(size: int) -> MerkleTree:
    return build(leaf_hash(str(number).encode()) for number in range(size))


def by_the_rfc(hashes: Sequence[bytes]) -> bytes:
    """RFC 9162, 2.1.1: split at the largest power of two below the number of leaves."""
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return node_hash(by_the_rfc(hashes[:split]), by_the_rfc(hashes[split:]))


def flipped(data: bytes, bit: int) -> bytes:
    return (int.from_bytes(data) ^ 1 << bit).to_bytes(len(data))


def test_published_roots() -> None:
    leaves = [leaf_hash(bytes.fromhex(leaf)) for leaf, _ in PUBLISHED]

    roots = [build(leaves[:size]).root.hex() for size in range(1, len(leaves) + 1)]

    assert roots == [root for _, root in PUBLISHED]


# Of the same eight leaves, as published there: leaf, or old size, and the hashes.
PUBLISHED_PATHS = [
    (5, ["bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
         "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"]),
]  # fmt: skip
PUBLISHED_PROOFS = [
    (1, ["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
         "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
         "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"]),
    (6, ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
         "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"]),
]  # fmt: skip


def test_published_paths_and_proofs() -> None:
    tree = build([leaf_hash(bytes.fromhex(leaf)) for leaf, _ in PUBLISHED])

    for index, path in PUBLISHED_PATHS:
        assert [each.hex() for each in inclusion_path(tree, index)] == path
    for old_size, proof in PUBLISHED_PROOFS:
        assert [each.hex() for each in consistency_proof(tree, old_size)] == proof


@given(sizes, st.data())
def test_the_steps_of_the_rfc_accept_what_is_made_and_nothing_else(size: int, data: st.DataObject) -> None:
    tree = a_tree(size)
    index = data.draw(st.integers(0, size - 1))
    path, proof = inclusion_path(tree, index), consistency_proof(tree, index + 1)
    old = a_tree(index + 1)

    assert rfc9162.inclusion_holds(tree.levels[0][index], index, size, path, tree.root)
    assert rfc9162.consistency_holds(index + 1, size, old.root, tree.root, proof)
    for wrong in altered(path, data.draw(st.integers(0, 1000))):
        assert not rfc9162.inclusion_holds(tree.levels[0][index], index, size, wrong, tree.root)
    for wrong in altered(proof, data.draw(st.integers(0, 1000))):
        assert not rfc9162.consistency_holds(index + 1, size, old.root, tree.root, wrong)


def altered(hashes: list[bytes], at: int) -> list[list[bytes]]:
    """One more, and if there are any, one less and one other."""
    place = at % max(1, len(hashes))
    other = [[*hashes[:place], flipped(each, at % 256), *hashes[place + 1 :]] for each in hashes[place:][:1]]
    return [[*hashes, bytes(32)], *other, *([hashes[:-1]] if hashes else [])]


def test_golden_vectors_give_their_roots_paths_and_proofs() -> None:
    vector = load("merkle/trees")
    leaves = [leaf_hash(bytes.fromhex(leaf)) for leaf in vector["input"]["leaves"]]
    trees = [build(leaves[:size]) for size in range(len(leaves) + 1)]
    expected = vector["expected"]

    assert [tree.root.hex() for tree in trees] == expected["roots"]
    for case in expected["inclusion"]:
        path = inclusion_path(trees[case["size"]], case["index"])
        assert [each.hex() for each in path] == case["path"]
    for case in expected["consistency"]:
        proof = consistency_proof(trees[case["new"]], case["old"])
        assert [each.hex() for each in proof] == case["proof"]


@given(sizes)
def test_the_root_is_that_of_the_recursion_in_the_rfc(size: int) -> None:
    tree = a_tree(size)

    assert tree.root == by_the_rfc(tree.levels[0])
    assert tree.size == size


def test_a_leaf_cannot_pass_for_a_node() -> None:
    one, two = leaf_hash(b"1"), leaf_hash(b"2")

    assert leaf_hash(one + two) != node_hash(one, two)


@given(sizes, st.data())
def test_every_leaf_is_found_by_its_path(size: int, data: st.DataObject) -> None:
    tree = a_tree(size)
    index = data.draw(st.integers(0, size - 1))

    verify_inclusion(tree.levels[0][index], index, size, inclusion_path(tree, index), tree.root)


@given(sizes, st.data())
def test_another_leaf_path_or_root_is_refused(size: int, data: st.DataObject) -> None:
    tree = a_tree(size)
    index = data.draw(st.integers(0, size - 1))
    hashes = [tree.levels[0][index], *inclusion_path(tree, index), tree.root]
    at = data.draw(st.integers(0, len(hashes) - 1))
    hashes[at] = flipped(hashes[at], data.draw(st.integers(0, 255)))

    with pytest.raises(MerkleError, match=r"^root: expected "):
        verify_inclusion(hashes[0], index, size, hashes[1:-1], hashes[-1])


@given(st.integers(2, 70), st.data())
def test_a_path_does_not_lead_from_another_leaf(size: int, data: st.DataObject) -> None:
    tree = a_tree(size)
    index, other = data.draw(st.permutations(range(size)))[:2]

    with pytest.raises(MerkleError):
        verify_inclusion(tree.levels[0][other], other, size, inclusion_path(tree, index), tree.root)


def test_a_path_of_another_length_is_refused() -> None:
    tree = a_tree(5)
    path = inclusion_path(tree, 1)

    for wrong in (path[:-1], [*path, bytes(32)], []):
        with pytest.raises(MerkleError, match=f"^proof: expected 3 hashes, found {len(wrong)}$"):
            verify_inclusion(tree.levels[0][1], 1, 5, wrong, tree.root)


def test_hashes_of_another_length_are_refused() -> None:
    """Else the border between two neighbours could be moved."""
    tree = a_tree(2)
    left, right = tree.levels[0]

    with pytest.raises(MerkleError, match=r"^hash: expected 32 bytes, found 31$"):
        verify_inclusion(right[1:], 1, 2, [left + right[:1]], tree.root)
    with pytest.raises(MerkleError, match="found 31"):
        build([left, right[1:]])
    with pytest.raises(MerkleError, match="found 33"):
        verify_consistency(1, 2, left, tree.root, [right + b"\0"])


@pytest.mark.parametrize("index", [-1, 5, 6])
def test_leaves_that_are_not_there_have_no_path(index: int) -> None:
    tree = a_tree(5)

    with pytest.raises(MerkleError, match=f"^leaf index: expected 0 to 4, found {index}$"):
        inclusion_path(tree, index)
    with pytest.raises(MerkleError, match="leaf index"):
        verify_inclusion(bytes(32), index, 5, [], tree.root)


@given(sizes, sizes)
def test_a_tree_that_grew_is_consistent(one: int, two: int) -> None:
    old, new = a_tree(min(one, two)), a_tree(max(one, two))

    verify_consistency(old.size, new.size, old.root, new.root, consistency_proof(new, old.size))


@given(sizes, sizes, st.data())
def test_another_root_or_proof_is_not_consistent(one: int, two: int, data: st.DataObject) -> None:
    old, new = a_tree(min(one, two)), a_tree(max(one, two))
    hashes = [old.root, new.root, *consistency_proof(new, old.size)]
    at = data.draw(st.integers(0, len(hashes) - 1))
    hashes[at] = flipped(hashes[at], data.draw(st.integers(0, 255)))

    with pytest.raises(MerkleError, match="root: expected "):
        verify_consistency(old.size, new.size, hashes[0], hashes[1], hashes[2:])


@given(st.integers(2, 40), st.data())
def test_a_tree_with_another_past_is_not_consistent(size: int, data: st.DataObject) -> None:
    old_size = data.draw(st.integers(1, size - 1))
    changed = data.draw(st.integers(0, old_size - 1))
    old = a_tree(old_size)
    leaves = list(a_tree(size).levels[0])
    leaves[changed] = leaf_hash(b"something else")
    new = build(leaves)

    with pytest.raises(MerkleError, match=r"(old|new) root"):
        verify_consistency(old.size, new.size, old.root, new.root, consistency_proof(new, old.size))


def test_trees_of_up_to_nine_leaves_begin_with_every_smaller_one_and_no_other() -> None:
    for size in range(1, 10):
        new = a_tree(size)
        for old_size in range(1, size + 1):
            old, proof = a_tree(old_size), consistency_proof(new, old_size)

            verify_consistency(old_size, size, old.root, new.root, proof)
            for roots in ((flipped(old.root, 7), new.root), (old.root, flipped(new.root, 7))):
                with pytest.raises(MerkleError, match="root: expected "):
                    verify_consistency(old_size, size, *roots, proof)


@pytest.mark.parametrize(("old_size", "expected"), [(3, 4), (4, 1), (7, 0)])
def test_a_proof_of_another_length_is_refused(old_size: int, expected: int) -> None:
    old, new = a_tree(old_size), a_tree(7)
    proof = consistency_proof(new, old_size)

    for wrong in ([*proof, bytes(32)], proof[:-1] or [bytes(32)] * 2):
        with pytest.raises(MerkleError, match=f"^proof: expected {expected} hashes, found {len(wrong)}$"):
            verify_consistency(old_size, 7, old.root, new.root, wrong)


@pytest.mark.parametrize("old_size", [-1, 0, 6])
def test_only_smaller_trees_with_leaves_are_compared(old_size: int) -> None:
    tree = a_tree(5)

    with pytest.raises(MerkleError, match=f"^old size: expected 1 to 5, found {old_size}$"):
        consistency_proof(tree, old_size)
    with pytest.raises(MerkleError, match="old size"):
        verify_consistency(old_size, 5, tree.root, tree.root, [])
