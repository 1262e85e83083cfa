"""Two lists of where chains ended: what is missing, shorter or other is named, what grew is counted."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.audit.checkpoint import ChainHead, Tree
from bpc_worker.core.audit.checkpoint_compare import Change, Counts, compare_heads, compare_trees, since
from bpc_worker.core.base.hashing import sha256


def head(number: int, version: int = 3) -> ChainHead:
    return ChainHead(
        aggregate_type="passport",
        aggregate_id=UUID(int=number),
        aggregate_version=version,
        event_hash=sha256(b"%d %d" % (number, version)),
    )


def compared(old: list[ChainHead], new: list[ChainHead]) -> tuple[list[tuple[int, int, Change]], Counts]:
    counts = Counts()
    found = [(each.key[1].int, each.version, each.change) for each in compare_heads(old, new, counts)]
    return found, counts


def test_every_change_is_named_with_its_position() -> None:
    old = [head(1), head(2), head(3), head(4), head(6)]
    new = [
        head(0),
        head(1),
        head(2, 5),
        head(3, 2),
        replace(head(4), event_hash=sha256(b"?")),
        head(5),
        head(7),
        head(8),
    ]

    found, counts = compared(old, new)

    assert found == [(3, 3, Change.SHORTENED), (4, 3, Change.REWRITTEN), (6, 1, Change.DELETED)]
    assert counts == Counts(same=1, grown=1, begun=4, differences=3)


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_what_is_not_there_any_more_is_deleted_and_what_was_not_there_began(
    old: set[int], new: set[int]
) -> None:
    found, counts = compared(*([head(number) for number in sorted(numbers)] for numbers in (old, new)))

    assert {number for number, *_ in found} == old - new
    assert counts == Counts(same=len(old & new), begun=len(new - old), differences=len(old - new))


def test_a_chain_without_the_event_at_its_mark_is_rewritten() -> None:
    difference = since(head(1), 5, None, where="the checkpoint")

    assert difference is not None
    assert (difference.version, difference.change, difference.found) == (3, Change.REWRITTEN, "no such event")
    assert difference.expected == f"{head(1).event_hash.hex()} as in the checkpoint"
    assert since(head(1), 5, head(1).event_hash, where="") is None


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (Tree(size=5, root=b"a"), None),
        (Tree(size=6, root=b"b"), None),
        (Tree(size=4, root=b"a"), "the tree had 5 leaves and has 4"),
        (Tree(size=5, root=b"b"), "the trees have 5 leaves each and other roots: 61, 62"),
    ],
)
def test_trees_only_grow(new: Tree, said: str | None) -> None:
    assert compare_trees(Tree(size=5, root=b"a"), new) == said
