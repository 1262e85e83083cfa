"""The facts of a snapshot, found by type and key."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.rules.values import Fact

MAX_DEPTH = 100  # of a fact: so that every value taken out of it still has a place in a proof


def make_fact(fact_type: str, fact_key: str, payload: Mapping[str, object]) -> Fact:
    """A fact with the hash of its canonical payload; CanonicalJsonError for what has none."""
    canonical_json.encode([fact_type, fact_key])
    data = canonical_json.encode(payload)
    if _is_deeper(payload, MAX_DEPTH):
        raise CanonicalJsonError("", f"a fact nested deeper than {MAX_DEPTH} levels")
    return Fact(fact_type, fact_key, sha256_hex(data), payload)


def _is_deeper(payload: object, levels: int) -> bool:
    inside: list[object] = [payload]
    for _ in range(levels + 1):
        inside = [each for outer in inside for each in _children(outer)]
    return bool(inside)


def _children(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list() | tuple():
            return value
        case _:
            return ()


class FactSet:
    """One fact per type and key; the order in which they come does not matter."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._by_type: dict[str, dict[str, Fact]] = {}
        for fact in facts:
            found = self._by_type.setdefault(fact.fact_type, {})
            if found.setdefault(fact.fact_key, fact).payload_hash != fact.payload_hash:
                raise ValueError(f"two different facts {fact.fact_type} {fact.fact_key}")
        # The order of code points is that of UTF-8 bytes.
        self._keys = {kind: sorted(found) for kind, found in self._by_type.items()}

    def get(self, fact_type: str, fact_key: str) -> Fact | None:
        return self._by_type.get(fact_type, {}).get(fact_key)

    def by_prefix(self, fact_type: str, prefix: str) -> tuple[Fact, ...]:
        """In order of the keys' UTF-8 bytes."""
        keys = self._keys.get(fact_type, [])
        start = end = bisect_left(keys, prefix)
        while end < len(keys) and keys[end].startswith(prefix):
            end += 1
        return tuple(self._by_type[fact_type][key] for key in keys[start:end])
