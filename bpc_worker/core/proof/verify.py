"""Verify a BPC-PROOF-2 proof: every hash and every operation, with or without the facts.

*Arithmetic*: from the proof alone. Values taken out of facts, and results over lists of facts, are attested
by the signature. *Full*, with the facts: each value stands in the fact whose hash is named, and each
aggregate is computed again; nothing is taken from the proof but constants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bpc_worker.core.base import canonical_json, derivation, proof_text
from bpc_worker.core.proof.values import StepError, expect, shown
from bpc_worker.core.proof.verify_steps import Steps, VerifiedField
from bpc_worker.core.rules.evaluate import Statement
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.source import Limits, RuleError

__all__ = ["ProofError", "VerifiedField", "VerifiedProof", "verify_proof"]

_DOCUMENT = ("field_index", "nodes", "proof_version", "root_hash")


class ProofError(Exception):
    """The proof is not what it says it is; `place` names the step or field."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message


@dataclass(frozen=True, slots=True)
class VerifiedProof:
    root_hash: str
    fields: Mapping[str, VerifiedField]
    statements: tuple[Statement, ...]
    nodes: Sequence[proof_text.Step]


def verify_proof(
    data: bytes, *, law_date: date | None, facts: FactSet | None = None, limits: Limits | None = None
) -> VerifiedProof:
    """What the proof proves; ProofError at the first step that does not hold."""
    bounds = limits or Limits()
    try:
        return _verified(_document(data), Steps(law_date, facts, bounds), bounds)
    except RecursionError:  # a caller near the end of the stack: nothing in a proof is that deep
        raise ProofError("the proof", "called too deep inside another program") from None


def _verified(document: Mapping[str, object], steps: Steps, limits: Limits) -> VerifiedProof:
    nodes = _nodes(document["nodes"], limits)
    hashes: list[str] = []
    for number, (kind, data, children) in enumerate(nodes):
        if kind not in derivation.NODE_TYPES:
            raise ProofError(f"node {number}", f"unknown type {shown(kind)}")
        below = [hashes[child] for child in children]
        hashes.append(derivation.node_hash(number, kind, derivation.data_bytes(data), below))
        try:
            steps.add(kind, data, children)
        except (StepError, RuleError) as error:
            raise ProofError(f"node {number}", str(error)) from error
    try:
        steps.check_complete()
        index = {path: field.node for path, field in steps.fields.items()}
        expect(document["field_index"], index, "field_index")
        expect(document["root_hash"], hashes[-1], "root_hash")
    except StepError as error:
        raise ProofError("the proof", str(error)) from error
    return VerifiedProof(hashes[-1], dict(steps.fields), tuple(steps.statements), nodes)


def _document(data: bytes) -> Mapping[str, object]:
    try:
        document = canonical_json.decode(data)
    except canonical_json.CanonicalJsonError as error:
        raise ProofError("the proof", f"not canonical JSON: {error}") from error
    if not isinstance(document, dict) or tuple(sorted(document)) != _DOCUMENT:
        raise ProofError("the proof", f"expected an object with {', '.join(_DOCUMENT)}")
    if document["proof_version"] != derivation.PROOF_VERSION:
        raise ProofError("proof_version", f"expected {derivation.PROOF_VERSION}")
    return document


def _nodes(nodes: object, limits: Limits) -> list[proof_text.Step]:
    if not isinstance(nodes, list) or not 0 < len(nodes) <= limits.nodes:
        raise ProofError("nodes", f"expected a list of 1 to {limits.nodes} steps")
    try:
        return proof_text.read(nodes)
    except proof_text.StepFormError as error:
        raise ProofError(f"node {error.number}", str(error)) from error
