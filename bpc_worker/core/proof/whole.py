"""A proof with every step written out, as archives hold it: its number, its hash, all of its data.

In the database a proof is written short. Whoever checks a bundle with a program of their own reads the whole.
"""

from collections.abc import Mapping, Sequence

from bpc_worker.core.base import canonical_json, proof_text
from bpc_worker.core.base.derivation import data_bytes, node_hash
from bpc_worker.core.base.forms import FormError, members
from bpc_worker.core.base.proof_text import Step, StepFormError

_STEP = ("id", "type", "hash", "data", "children")


def written_out(proof: bytes) -> bytes:
    """Of a proof as it is stored."""
    document = _document(proof)
    steps = proof_text.read(_nodes(document))
    nodes = [
        {"id": number, "type": step.type, "hash": found, "data": step.data, "children": [*step.children]}
        for number, (step, found) in enumerate(zip(steps, _hashes(steps), strict=True))
    ]
    return data_bytes({**document, "nodes": nodes})


def shortened(proof: bytes) -> bytes:
    """As it is stored, of one that is written out; FormError with the place of what no step has."""
    document = _document(proof)
    listed = [_members(number, each) for number, each in enumerate(_nodes(document))]
    steps = [_step(number, each) for number, each in enumerate(listed)]
    for number, (found, each) in enumerate(zip(_hashes(steps), listed, strict=True)):
        if type(each["id"]) is not int or each["id"] != number:
            raise FormError(f"/nodes/{number}/id", f"the number of this step is {number}")
        if each["hash"] != found:
            raise FormError(f"/nodes/{number}/hash", f"the hash of this step is {found}")
    return data_bytes({**document, "nodes": proof_text.write(steps)})


def _document(proof: bytes) -> Mapping[str, object]:
    document = canonical_json.decode(proof)
    if not isinstance(document, dict):
        raise FormError("", "a proof is an object")
    return document


def _nodes(document: Mapping[str, object]) -> list[object]:
    nodes = document.get("nodes")
    if not isinstance(nodes, list):
        raise FormError("/nodes", "a proof has a list of steps")
    return nodes


def _members(number: int, written: object) -> dict[str, object]:
    try:
        return members(written, _STEP)
    except FormError as error:
        raise FormError(f"/nodes/{number}", str(error)) from error


def _step(number: int, found: Mapping[str, object]) -> Step:
    children = [found["children"]] if found["children"] else []
    try:
        return proof_text.step(number, [found["type"], found["data"], *children])
    except StepFormError as error:
        raise FormError(f"/nodes/{number}", str(error)) from error


def _hashes(steps: Sequence[Step]) -> list[str]:
    hashes: list[str] = []
    for number, (kind, data, children) in enumerate(steps):
        below = [hashes[child] for child in children]
        hashes.append(node_hash(number, kind, data_bytes(data), below))
    return hashes
