"""The facts of a snapshot, found by type and key."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from bpc_worker.core import canonical_json
from bpc_worker.core.hashing import sha256_hex
from bpc_worker.core.rules.values import Fact


def make_fact(fact_type: str, fact_key: str, payload: Mapping[str, object]) -> Fact:
    """A fact with the hash of its canonical payload."""
    return Fact(fact_type, fact_key, sha256_hex(canonical_json.encode(payload)), payload)


class FactSet:
    """One fact per type and key; the order in which they come does not matter."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._by_type: dict[str, dict[str, Fact]] = {}
        for fact in facts:
            found = self._by_type.setdefault(fact.fact_type, {})
            if found.setdefault(fact.fact_key, fact).payload_hash != fact.payload_hash:
                raise ValueError(f"two different facts {fact.fact_type} {fact.fact_key}")
        self._keys = {kind: sorted(found, key=str.encode) for kind, found in self._by_type.items()}

    def get(self, fact_type: str, fact_key: str) -> Fact | None:
        return self._by_type.get(fact_type, {}).get(fact_key)

    def by_prefix(self, fact_type: str, prefix: str) -> tuple[Fact, ...]:
        """In order of the keys' UTF-8 bytes."""
        keys = self._keys.get(fact_type, [])
        found = self._by_type.get(fact_type, {})
        start = bisect_left(keys, prefix.encode(), key=str.encode)
        selected = []
        for key in keys[start:]:
            if not key.startswith(prefix):
                break
            selected.append(found[key])
        return tuple(selected)
