"""BPC-DISCLOSE-1: views for one audience that verify without the rest of the passport.

A Merkle tree over all fields, each salted: whoever sees some fields learns nothing from the tree about the
others, not even by guessing a value and hashing it. (The hashes in the receipt are not salted: ADR 7.)
"""

import hmac
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from uuid import UUID

from bpc_worker.core.base import merkle
from bpc_worker.core.base.audience import Audience
from bpc_worker.core.base.canonical_json import CanonicalJsonError, JsonValue, decode, encode
from bpc_worker.core.base.forms import (
    HASH_SIZE,
    FormError,
    below,
    members,
    parse_constant,
    parse_count,
    parse_hash,
    parse_list,
    parse_text,
    raised_as,
    read,
    shown,
    uuid_text,
)

DISCLOSURE_VERSION = "BPC-DISCLOSE-1"
SALT_SIZE = 16

_SALT = re.compile(r"[0-9a-f]{32}")


_AUDIENCES = frozenset(Audience)


class DisclosureError(FormError):
    """Fields that make no tree, or a view that does not belong to its root."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the passport and those who may see it, each by name."""

    path: str
    audiences: AbstractSet[str]
    value: object


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field with its salt, in canonical bytes."""

    path: str
    audiences: frozenset[str]
    canonical: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """All leaves in order of path and the tree over them: made by `tree`, never exported as a whole."""

    leaves: tuple[Leaf, ...]
    merkle_tree: merkle.MerkleTree

    @property
    def root(self) -> bytes:
        return self.merkle_tree.root


def disclosure_seed(key: bytes, passport_version_id: UUID) -> bytes:
    """The secret of one passport version, from the secret of the installation."""
    if len(key) < HASH_SIZE:
        raise DisclosureError("", f"disclosure key: expected at least {HASH_SIZE} bytes, found {len(key)}")
    return hmac.digest(key, uuid_text(passport_version_id).encode("ascii"), "sha256")


def tree(fields: Iterable[Field], seed: bytes) -> Disclosure:
    """The tree over these fields, in whatever order they come."""
    if len(seed) != HASH_SIZE:
        raise DisclosureError("", f"disclosure seed: expected {HASH_SIZE} bytes, found {len(seed)}")
    # Python compares code points, which is the order of UTF-8 bytes.
    leaves = sorted((_salted(item, seed) for item in fields), key=lambda leaf: leaf.path)
    if not leaves:
        raise DisclosureError("", "expected at least one field, found none")
    for leaf, following in pairwise(leaves):
        if leaf.path == following.path:
            raise DisclosureError("", f"field {shown(leaf.path)} is there twice")
    return Disclosure(tuple(leaves), merkle.build(merkle.leaf_hash(leaf.canonical) for leaf in leaves))


def view(disclosure: Disclosure, audience: str) -> dict[str, JsonValue]:
    """What this audience may see, with all it needs to check it against the root in the receipt."""
    with raised_as(DisclosureError):
        _audience(audience)
    return {
        "disclosure_version": DISCLOSURE_VERSION,
        "audience": str(audience),
        "tree_size": disclosure.merkle_tree.size,
        "fields": [
            _entry(disclosure, index, leaf)
            for index, leaf in enumerate(disclosure.leaves)
            if audience in leaf.audiences
        ],
    }


@raised_as(DisclosureError)
def verify_view(found: object, disclosure_root: bytes) -> None:
    """Every field of a view stands in the tree with this root and is meant for the view's audience.

    Whether fields of the audience were left out cannot be seen from a view.
    """
    parts = members(found, ("disclosure_version", "audience", "tree_size", "fields"))
    read(parts, "disclosure_version", parse_constant(DISCLOSURE_VERSION))
    audience = read(parts, "audience", _audience)
    size = read(parts, "tree_size", parse_count)
    entries = read(
        parts, "fields", parse_list(lambda entry: _verified(entry, audience, size, disclosure_root))
    )
    for at, (one, following) in enumerate(pairwise(entries), start=1):
        if not (one.index < following.index and one.path < following.path):
            raise DisclosureError(
                f"/fields/{at}", f"out of order: {shown(following.path)} stands after {shown(one.path)}"
            )


def _salted(item: Field, seed: bytes) -> Leaf:
    # A lone surrogate has no UTF-8; it passes here only to be refused by the canonical form below.
    salt = hmac.digest(seed, item.path.encode("utf-8", "surrogatepass"), "sha256")[:SALT_SIZE]
    try:
        path = below("path", parse_text, item.path)
        names = below("audiences", _in_order, frozenset(item.audiences))
        parts = {"path": path, "audiences": names, "value": item.value, "salt": salt.hex()}
        return Leaf(path, frozenset(names), encode(parts))
    except (CanonicalJsonError, FormError) as error:
        raise DisclosureError(error.path, f"field {shown(item.path)}: {error.reason}") from None


def _entry(disclosure: Disclosure, index: int, leaf: Leaf) -> JsonValue:
    path = merkle.inclusion_path(disclosure.merkle_tree, index)
    return {
        "leaf": decode(leaf.canonical),
        "leaf_index": index,
        "inclusion_path": [neighbour.hex() for neighbour in path],
    }


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    index: int


def _verified(entry: object, audience: str, size: int, root: bytes) -> _Place:
    parts = members(entry, ("leaf", "leaf_index", "inclusion_path"))
    leaf = read(parts, "leaf", _leaf)
    index = read(parts, "leaf_index", parse_count)
    path = read(parts, "inclusion_path", parse_list(parse_hash))
    if audience not in leaf.audiences:
        raise FormError("/leaf/audiences", f"expected {audience} among them, found {_listed(leaf.audiences)}")
    try:
        merkle.verify_inclusion(merkle.leaf_hash(leaf.canonical), index, size, path, root)
    except merkle.MerkleError as error:
        raise FormError("", f"not in the tree: {error}") from None
    return _Place(leaf.path, index)


def _leaf(value: object) -> Leaf:
    parts = members(value, ("path", "audiences", "value", "salt"))
    path = read(parts, "path", parse_text)
    audiences = read(parts, "audiences", _audiences)
    read(parts, "salt", _salt)
    return Leaf(path, audiences, encode(parts))


def _salt(text: object) -> str:
    if isinstance(text, str) and _SALT.fullmatch(text):
        return text
    raise FormError("", f"expected {2 * SALT_SIZE} lower-case hex digits, found {shown(text)}")


@cache  # most fields share a few sets
def _in_order(audiences: frozenset[str]) -> tuple[str, ...]:
    names = [str(name) for name in sorted(audiences)]
    _audiences(names)
    return tuple(names)


def _audiences(value: object) -> frozenset[str]:
    names = parse_list(_audience)(value)
    if not names:
        raise FormError("", f"expected at least one of {_listed(Audience)}, found none")
    if names != sorted(set(names)):
        raise FormError(
            "", f"expected {_listed(set(names))} in this order and once each, found {', '.join(names)}"
        )
    return frozenset(names)


def _audience(name: object) -> str:
    if isinstance(name, str) and name in _AUDIENCES:
        return name
    raise FormError("", f"expected one of {_listed(Audience)}, found {shown(name)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
