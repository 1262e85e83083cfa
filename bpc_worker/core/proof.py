"""BPC-PROOF-1: how every value was derived, as a list of hashed steps."""

import json
from collections.abc import Mapping
from hashlib import sha256

PROOF_VERSION = "BPC-PROOF-1"

CONST, FACT_GET, FIELD_REF = "CONST", "FACT_GET", "FIELD_REF"
OP, ASSERT, COMPLIANCE_EMIT = "OP", "ASSERT", "COMPLIANCE_EMIT"
NODE_TYPES = frozenset({CONST, FACT_GET, FIELD_REF, OP, ASSERT, COMPLIANCE_EMIT})

_write = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def data_bytes(data: Mapping[str, object]) -> bytes:
    """Canonical, as all values in a proof are canonical already: checked where they came in."""
    return _write(data).encode()


def node_hash(number: int, kind: str, data: bytes, children_hashes: list[str]) -> str:
    """sha256 of canonical {"children_hashes", "data", "id", "type"}."""
    children = ",".join(f'"{each}"' for each in children_hashes)
    head = f'{{"children_hashes":[{children}],"data":'.encode()
    return sha256(head + data + f',"id":{number},"type":"{kind}"}}'.encode()).hexdigest()


class ProofBuilder:
    """Collects steps; equal steps over equal children are one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, tuple[int, ...]], int] = {}
        self._hashes: list[str] = []
        self._texts: list[bytes] = []
        self.fields: dict[str, int] = {}
        self.written = 0  # bytes of data, those of steps known already too: what the work is measured by

    def add(self, kind: str, data: Mapping[str, object], children: tuple[int, ...] = ()) -> int:
        encoded = data_bytes(data)
        self.written += len(encoded)
        key = (kind, encoded, children)
        known = self._known.get(key)
        if known is not None:
            return known
        number = len(self._hashes)
        hashed = node_hash(number, kind, encoded, [self._hashes[child] for child in children])
        below = ",".join(map(str, children))
        head = f'{{"children":[{below}],"data":'.encode()
        tail = f',"hash":"{hashed}","id":{number},"type":"{kind}"}}'.encode()
        self._hashes.append(hashed)
        self._texts.append(head + encoded + tail)
        self._known[key] = number
        return number

    def finish(self) -> tuple[bytes, str]:
        """The proof's canonical bytes and its root hash. The root has every field as a child, by path."""
        paths = sorted(self.fields)
        root = self.add(
            OP, {"op": "passport", "result": len(paths)}, tuple(self.fields[path] for path in paths)
        )
        index = data_bytes({path: self.fields[path] for path in paths})
        body = b'{"field_index":' + index + b',"nodes":[' + b",".join(self._texts)
        tail = f'],"proof_version":"{PROOF_VERSION}","root_hash":"{self._hashes[root]}"}}'
        return body + tail.encode(), self._hashes[root]

    @property
    def size(self) -> int:
        return len(self._hashes)
