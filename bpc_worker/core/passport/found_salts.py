"""The salts of a version as they stand in what was handed out with all disclosures: no secret is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bpc_worker.core.base.canonical_json import decode
from bpc_worker.core.base.forms import below, parse_salt
from bpc_worker.core.passport.disclosures import STATEMENTS, digest, parse_disclosure
from bpc_worker.core.passport.salts import SaltError
from bpc_worker.core.passport.view_text import ViewText


@dataclass(frozen=True, slots=True)
class FoundSalts:
    payload: bytes
    proof: bytes
    sets: Mapping[tuple[str, ...], bytes]
    names: Mapping[str, bytes]

    def set_of(self, audiences: Sequence[str]) -> bytes:
        if tuple(audiences) not in self.sets:
            raise SaltError("", f"the rules make a set for {', '.join(audiences)}, the view has none")
        return self.sets[tuple(audiences)]

    def field(self, path: str) -> bytes:
        if path not in self.names:
            raise SaltError("", f"the rules make {path}, the view has no disclosure of it")
        return self.names[path]

    def statement(self, code: str) -> bytes:
        return self.field(f"{STATEMENTS}{code}")


def found_salts(payload: object, proof: bytes, view: ViewText) -> FoundSalts:
    """Of a decoded payload, a proof that was verified, and a view that was verified and has everything."""
    document = decode(proof)
    nodes = document["nodes"] if isinstance(document, dict) else []
    root = nodes[-1] if isinstance(nodes, list) else []
    data = root[1] if isinstance(root, list) else {}
    around = {one.digest: one.audiences for one in view.claims.sets}
    sets: dict[tuple[str, ...], bytes] = {}
    names: dict[str, bytes] = {}
    for text in view.disclosures:
        found = parse_disclosure(text)
        name = digest(text)
        if name in around:
            sets[around[name]] = found.salt
        else:
            names[found.name] = found.salt
    return FoundSalts(_salt_in(payload), _salt_in(data), sets, names)


def _salt_in(document: object) -> bytes:
    return below("salt", parse_salt, document.get("salt") if isinstance(document, dict) else None)
