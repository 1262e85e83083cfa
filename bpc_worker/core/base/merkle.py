"""Merkle trees of RFC 9162, section 2.1: tree hash, inclusion paths, consistency proofs.

The RFC splits n leaves at the largest power of two below n. Pairing neighbours level by level, and
lifting a last node without a neighbour as it is, makes the same tree. All functions work on leaf
hashes, so that a log need not keep its leaves.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bpc_worker.core.base.forms import HASH_SIZE
from bpc_worker.core.base.hashing import sha256

_LEAF = b"\x00"
_NODE = b"\x01"


class MerkleError(ValueError):
    """A proof that does not hold, or a question about leaves that the tree does not have."""


def leaf_hash(data: bytes) -> bytes:
    return sha256(_LEAF + data)


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right)


@dataclass(frozen=True, slots=True)
class MerkleTree:
    """All nodes, level by level from the leaves up; made by `build`."""

    levels: tuple[tuple[bytes, ...], ...] = field(repr=False)
    size: int
    root: bytes


def build(leaf_hashes: Iterable[bytes]) -> MerkleTree:
    """The tree over these leaves; without any, its root is the hash of nothing (RFC 9162, 2.1.1)."""
    leaves = tuple(leaf_hashes)
    _check_hashes(leaves)
    levels = [leaves]
    while len(levels[-1]) > 1:
        levels.append(_level_above(levels[-1]))
    root = levels[-1][0] if leaves else sha256(b"")
    return MerkleTree(tuple(levels), len(leaves), root)


def inclusion_path(tree: MerkleTree, index: int) -> list[bytes]:
    """The neighbours on the way from leaf `index` to the root (RFC 9162, 2.1.3.1)."""
    check_index(index, tree.size)
    return _neighbours(tree, 0, index)


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Leaf hash `leaf` is number `index` in the tree of `size` leaves with this root (2.1.3.2)."""
    check_index(index, size)
    _check_hashes((leaf, *path, root))
    sides = list(_sides(index, size))
    _check_length(path, len(sides))
    found = leaf
    for on_the_left, neighbour in zip(sides, path, strict=True):
        found = node_hash(neighbour, found) if on_the_left else node_hash(found, neighbour)
    _check_root("root", root, found)


def consistency_proof(tree: MerkleTree, old_size: int) -> list[bytes]:
    """What shows that the tree's first `old_size` leaves are still the same (RFC 9162, 2.1.4.1)."""
    check_old_size(old_size, tree.size)
    if old_size == tree.size:
        return []
    level, index, _ = last_whole_node(old_size, tree.size)
    first = [tree.levels[level][index]] if index else []  # a whole old tree is its own first node
    return first + _neighbours(tree, level, index)


def verify_consistency(
    old_size: int, new_size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """The tree with `new_root` begins with all leaves of the tree with `old_root` (RFC 9162, 2.1.4.2)."""
    check_old_size(old_size, new_size)
    _check_hashes((old_root, new_root, *proof))
    if old_size == new_size:
        _check_length(proof, 0)
        _check_root("root", old_root, new_root)
        return
    _, index, size = last_whole_node(old_size, new_size)
    nodes = list(proof) if index else [old_root, *proof]
    sides = list(_sides(index, size))
    _check_length(proof, len(sides) + bool(index))
    old = new = nodes[0]
    for on_the_left, neighbour in zip(sides, nodes[1:], strict=True):
        old = node_hash(neighbour, old) if on_the_left else old
        new = node_hash(neighbour, new) if on_the_left else node_hash(new, neighbour)
    _check_root("old root", old_root, old)
    _check_root("new root", new_root, new)


def _level_above(level: tuple[bytes, ...]) -> tuple[bytes, ...]:
    paired = [node_hash(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
    lifted = level[-1:] if len(level) % 2 else ()
    return (*paired, *lifted)


def _sides(index: int, size: int) -> Iterator[bool]:
    """From a node up: for each neighbour that there is, whether it stands on the left."""
    while size > 1:
        if index % 2:
            yield True
        elif index + 1 < size:
            yield False
        index, size = index // 2, (size + 1) // 2


def _neighbours(tree: MerkleTree, level: int, index: int) -> list[bytes]:
    found: list[bytes] = []
    for nodes in tree.levels[level:-1]:
        neighbour = index ^ 1
        found.extend(nodes[neighbour : neighbour + 1])
        index //= 2
    return found


def last_whole_node(old_size: int, new_size: int) -> tuple[int, int, int]:
    """Level, index and width of the level of the biggest full subtree that ends where the old tree ends."""
    level, index, width = 0, old_size - 1, new_size
    while index % 2:
        level, index, width = level + 1, index // 2, (width + 1) // 2
    return level, index, width


def check_index(index: int, size: int) -> None:
    if not 0 <= index < size:
        raise MerkleError(f"leaf index: expected 0 to {size - 1}, found {index}")


def check_old_size(old_size: int, new_size: int) -> None:
    if not 0 < old_size <= new_size:
        raise MerkleError(f"old size: expected 1 to {new_size}, found {old_size}")


def _check_hashes(hashes: Iterable[bytes]) -> None:
    # With other lengths the border between two neighbours could be moved without changing the hash above.
    for found in hashes:
        if len(found) != HASH_SIZE:
            raise MerkleError(f"hash: expected {HASH_SIZE} bytes, found {len(found)}")


def _check_length(proof: Sequence[bytes], expected: int) -> None:
    if len(proof) != expected:
        raise MerkleError(f"proof: expected {expected} hashes, found {len(proof)}")


def _check_root(name: str, expected: bytes, found: bytes) -> None:
    if found != expected:
        raise MerkleError(f"{name}: expected {expected.hex()}, found {found.hex()}")
