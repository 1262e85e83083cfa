"""The trees of `core.merkle` over leaves that are too many to hold: one pass, a few hashes kept."""

from collections.abc import Sequence

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.merkle import check_index, check_old_size, last_whole_node, node_hash


class TreeHash:
    """Leaf hashes one by one; the root of those so far at any time."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []  # roots of the full subtrees, one per bit of the size, largest first

    def add(self, leaf: bytes) -> None:
        node, rest = leaf, self.size
        while rest % 2:
            node, rest = node_hash(self._peaks.pop(), node), rest // 2
        self._peaks.append(node)
        self.size += 1

    @property
    def root(self) -> bytes:
        if not self._peaks:
            return sha256(b"")
        *before, found = self._peaks
        for peak in reversed(before):
            found = node_hash(peak, found)
        return found


class RangeHashes:
    """The root over each of these ranges of leaves, which do not overlap."""

    def __init__(self, ranges: Sequence[range]) -> None:
        self._wanted = ranges
        self._trees = {each: TreeHash() for each in ranges}
        self._coming = sorted(ranges, key=lambda each: each.start, reverse=True)
        self._index = 0

    def add(self, leaf: bytes) -> None:
        while self._coming and self._index >= self._coming[-1].stop:
            self._coming.pop()
        if self._coming and self._index in self._coming[-1]:
            self._trees[self._coming[-1]].add(leaf)
        self._index += 1

    def hashes(self) -> list[bytes]:
        """In the order in which the ranges were given, once all leaves are there."""
        return [self._trees[each].root for each in self._wanted]


def inclusion_ranges(index: int, size: int) -> list[range]:
    """Which leaves stand below each hash of `merkle.inclusion_path`."""
    check_index(index, size)
    return _neighbours(0, index, size)


def consistency_ranges(old_size: int, new_size: int) -> list[range]:
    """Which leaves stand below each hash of `merkle.consistency_proof`."""
    check_old_size(old_size, new_size)
    if old_size == new_size:
        return []
    level, index, _ = last_whole_node(old_size, new_size)
    return ([_leaves(level, index, new_size)] if index else []) + _neighbours(level, index, new_size)


def _neighbours(level: int, index: int, size: int) -> list[range]:
    found = []
    while (size - 1) >> level:  # more than one node on this level
        below = _leaves(level, index ^ 1, size)
        found += [below] if below else []
        level, index = level + 1, index // 2
    return found


def _leaves(level: int, index: int, size: int) -> range:
    """Below node `index` of a level; the last one of a level may have fewer than the others, or none."""
    return range(index << level, min((index + 1) << level, size))
