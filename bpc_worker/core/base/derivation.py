"""BPC-PROOF-2: how every value was derived, as a list of hashed steps."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256

from bpc_worker.core.base import proof_text
from bpc_worker.core.base.canonical_json import text_of_checked

PROOF_VERSION = "BPC-PROOF-2"

CONST, OP = proof_text.CONST, proof_text.OP
FACT_GET, FIELD_REF, ASSERT, COMPLIANCE_EMIT = "FACT_GET", "FIELD_REF", "ASSERT", "COMPLIANCE_EMIT"
NODE_TYPES = frozenset({CONST, FACT_GET, FIELD_REF, OP, ASSERT, COMPLIANCE_EMIT})

Children = tuple[int, ...]
Step = tuple[str, bytes, Children]  # its type, its data in canonical bytes, the numbers of what it rests on


def data_bytes(data: Mapping[str, object]) -> bytes:
    """Canonical, as all values in a proof are canonical already: checked where they came in."""
    return text_of_checked(data).encode()


def node_hash(number: int, kind: str, data: bytes, children_hashes: list[str]) -> str:
    """sha256 of canonical {"children_hashes", "data", "id", "type"}."""
    children = ",".join([f'"{each}"' for each in children_hashes])
    head = f'{{"children_hashes":[{children}],"data":'.encode()
    return sha256(head + data + f',"id":{number},"type":"{kind}"}}'.encode()).hexdigest()


class ProofBuilder:
    """Collects steps; equal steps over equal children are one."""

    def __init__(self) -> None:
        self._steps: dict[Step, int] = {}  # in order of their numbers
        self.fields: dict[str, int] = {}

    def add(self, kind: str, data: bytes, children: Children = ()) -> int:
        """The step's number. The data is canonical."""
        return self._steps.setdefault((kind, data, children), len(self._steps))

    def finish(self, salt: bytes) -> tuple[bytes, str]:
        """The proof's canonical bytes and its root hash. The root has every field as a child, by path.

        The salt stands in the root: without it, whoever has the root hash could guess what the fields hold.
        """
        index = {path: self.fields[path] for path in sorted(self.fields)}
        data = data_bytes({"op": "passport", "result": len(index), "salt": salt.hex()})
        root = (OP, data, tuple(index.values()))
        hashes: list[str] = []
        steps: list[proof_text.Step] = []
        for number, (kind, data, children) in enumerate([*self._bound(), root]):
            hashes.append(node_hash(number, kind, data, [hashes[child] for child in children]))
            steps.append(proof_text.Step(kind, json.loads(data), children))
        document = {
            "field_index": index,
            "nodes": proof_text.write(steps),
            "proof_version": PROOF_VERSION,
            "root_hash": hashes[-1],
        }
        return data_bytes(document), hashes[-1]

    def _bound(self) -> Iterator[Step]:
        """The steps, where what no other step uses, such as a value that is withheld, rests under its field.

        The root's hash covers what the root rests on: anything else in a proof could be changed unseen.
        A field's own steps are made while it is evaluated: after the field before, and before its own.
        """
        used = {child for _, _, children in self._steps for child in children}
        fields = set(self.fields.values())
        spare: list[int] = []
        for (kind, data, children), number in self._steps.items():
            if number in fields:
                yield kind, data, (*children, *spare)
                spare.clear()
                continue
            if number not in used:
                spare.append(number)
            yield kind, data, children

    @property
    def size(self) -> int:
        return len(self._steps)
