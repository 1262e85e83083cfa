"""What became of the chains of a tenant between two checkpoints: they may only have grown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from bpc_worker.core.audit.checkpoint import ChainHead, ChainKey, Tree


class Change(StrEnum):
    DELETED = "DELETED"
    SHORTENED = "SHORTENED"
    REWRITTEN = "REWRITTEN"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first version of a chain that is not what it was."""

    key: ChainKey
    version: int
    change: Change
    expected: str
    found: str


@dataclass(slots=True)
class Counts:
    same: int = 0
    grown: int = 0  # whether they still begin as they did, only the events or a consistency proof tell
    begun: int = 0
    differences: int = 0


def since(mark: ChainHead, last: int, at_mark: bytes | None, *, where: str) -> Difference | None:
    """A chain that ended at `mark` has `last` events now; `at_mark` is the hash of that version now."""
    version, expected = mark.aggregate_version, f"version {mark.aggregate_version} as in {where}"
    if not last:
        return Difference(mark.key, 1, Change.DELETED, expected, "no event")
    if last < version:
        return Difference(mark.key, last + 1, Change.SHORTENED, expected, f"version {last} at the end")
    if at_mark != mark.event_hash:
        found = "no such event" if at_mark is None else at_mark.hex()
        return Difference(
            mark.key, version, Change.REWRITTEN, f"{mark.event_hash.hex()} as in {where}", found
        )
    return None


def compare_heads(old: Iterable[ChainHead], new: Iterable[ChainHead], counts: Counts) -> Iterator[Difference]:
    """Both in their order, side by side; `counts` is filled on the way."""
    coming = iter(new)
    later = next(coming, None)
    for mark in old:
        while later is not None and later.key < mark.key:
            counts.begun += 1
            later = next(coming, None)
        fits = later if later is not None and later.key == mark.key else None
        if fits is not None:
            later = next(coming, None)
        if difference := _difference(mark, fits):
            counts.differences += 1
            yield difference
        elif fits is not None and fits.aggregate_version > mark.aggregate_version:
            counts.grown += 1
        else:
            counts.same += 1
    counts.begun += (later is not None) + sum(1 for _ in coming)


def compare_trees(old: Tree, new: Tree) -> str | None:
    """What two trees show without a consistency proof, or None: nothing wrong."""
    if new.size < old.size:
        return f"the tree had {old.size} leaves and has {new.size}"
    if new.size == old.size and new.root != old.root:
        return f"the trees have {old.size} leaves each and other roots: {old.root.hex()}, {new.root.hex()}"
    return None


def _difference(mark: ChainHead, fits: ChainHead | None) -> Difference | None:
    if fits is None:
        return since(mark, 0, None, where="the old one")
    if fits.aggregate_version > mark.aggregate_version:
        return None
    return since(mark, fits.aggregate_version, fits.event_hash, where="the old one")
