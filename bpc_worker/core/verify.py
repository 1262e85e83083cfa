"""Verify a BPC-PROOF-1 proof: every hash and every operation, with or without the facts.

*Arithmetic*: from the proof alone. Values taken out of facts, and results over lists of facts, are attested
by the signature. *Full*, with the facts: each value stands in the fact whose hash is named, and each
aggregate is computed again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from bpc_worker.core import canonical_json, proof
from bpc_worker.core.rules import aggregate, operations
from bpc_worker.core.rules.evaluate import facts_hash
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.relambda import callable_from
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.values import Empty, Fact, Value, decoded, encoded

_AGGREGATES = frozenset({"map", "filter", "fold", "sumQty", "sumDec", "count"})


class ProofError(Exception):
    """The proof is not what it says it is; `place` names the step or field."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message


class Opaque:
    """A value that only the facts would tell: a fact's content, a list of facts, and what comes of those."""


OPAQUE = Opaque()
Known = Value | Opaque


class Seen(NamedTuple):
    """What a step gave: the form in its data, and the value where it is known."""

    form: object
    value: Known


@dataclass(frozen=True, slots=True)
class VerifiedField:
    path: str
    type: str
    audiences: tuple[str, ...]
    form: object
    value: Known
    node: int


@dataclass(frozen=True, slots=True)
class VerifiedProof:
    root_hash: str
    fields: Mapping[str, VerifiedField]
    statements: tuple[tuple[str, bool, str], ...]
    nodes: Sequence[Mapping[str, object]]


def verify_proof(
    data: bytes, *, law_date: date | None, facts: FactSet | None = None, limits: Limits | None = None
) -> VerifiedProof:
    """What the proof proves; ProofError at the first step that does not hold."""
    document = _document(data)
    verifier = _Verifier(document["nodes"], law_date, facts, limits or Limits())
    verifier.run()
    return verifier.conclude(document)


def _document(data: bytes) -> Mapping[str, object]:
    try:
        document = canonical_json.decode(data)
    except canonical_json.CanonicalJsonError as error:
        raise ProofError("the proof", f"not canonical JSON: {error}") from error
    members = {"proof_version", "nodes", "field_index", "root_hash"}
    if not isinstance(document, dict) or set(document) != members:
        raise ProofError("the proof", f"expected an object with {', '.join(sorted(members))}")
    if document["proof_version"] != proof.PROOF_VERSION:
        raise ProofError("proof_version", f"expected {proof.PROOF_VERSION}")
    return document


class _Verifier:
    def __init__(self, nodes: object, law_date: date | None, facts: FactSet | None, limits: Limits) -> None:
        self._nodes: list[Mapping[str, object]] = list(nodes) if isinstance(nodes, list) else []
        self._law_date = law_date
        self._facts = facts
        self._limits = limits
        self._hashes: list[str] = []
        self._seen: list[Seen] = []
        self._fields: dict[str, VerifiedField] = {}
        self._statements: list[tuple[str, bool, str]] = []

    def run(self) -> None:
        if not self._nodes or len(self._nodes) > self._limits.nodes:
            raise ProofError("the proof", f"{len(self._nodes)} steps")
        for number, node in enumerate(self._nodes):
            place = f"node {number}"
            kind, data, children = self._shape(number, node, place)
            try:
                self._seen.append(self._step(kind, data, children, number))
            except RuleError as error:
                raise ProofError(place, f"{error.code}: {error.message}") from error
            except (KeyError, ValueError, TypeError, ArithmeticError) as error:
                raise ProofError(place, f"ill-formed data ({type(error).__name__})") from error

    def _shape(
        self, number: int, node: object, place: str
    ) -> tuple[str, Mapping[str, object], tuple[int, ...]]:
        if not isinstance(node, dict) or set(node) != {"id", "type", "hash", "data", "children"}:
            raise ProofError(place, "expected id, type, hash, data and children")
        found, kind, hashed = node["id"], str(node["type"]), node["hash"]
        data, below = node["data"], node["children"]
        if not isinstance(data, dict) or not isinstance(below, list):
            raise ProofError(place, "expected data and children")
        if type(found) is not int or found != number or kind not in proof.NODE_TYPES:
            raise ProofError(place, f"id {found} of type {kind}")
        for child in below:
            if type(child) is not int or not 0 <= child < number:
                raise ProofError(place, f"child {child!r} does not come before it")
        expected = proof.node_hash(
            number, kind, canonical_json.encode(data), [self._hashes[child] for child in below]
        )
        if hashed != expected:
            raise ProofError(place, f"its hash is {hashed}, but its content gives {expected}")
        self._hashes.append(hashed)
        return kind, data, tuple(below)

    def _step(self, kind: str, data: Mapping[str, object], children: tuple[int, ...], number: int) -> Seen:
        operands = [self._seen[child] for child in children]
        match kind:
            case proof.CONST:
                return self._const(data)
            case proof.FACT_GET:
                return self._fact(data, operands)
            case proof.FIELD_REF:
                return self._field_ref(data, children)
            case proof.ASSERT:
                [condition] = operands
                _same(condition.form, True, "an assertion")
                return Seen(True, True)
            case proof.COMPLIANCE_EMIT:
                [condition] = operands
                _same(condition.form, data["result"], "a compliance statement")
                self._statements.append((str(data["code"]), data["result"] is True, str(data["message"])))
                return Seen(data["result"], data["result"] is True)
            case _:
                return self._op(data, operands, children, number)

    def _const(self, data: Mapping[str, object]) -> Seen:
        value = decoded(data["value"])
        if data.get("law_date"):
            _same(data["value"], encoded(self._law_date), "the law date")
        _same(encoded(value), data["value"], "the form of a constant")
        return Seen(data["value"], value)

    def _fact(self, data: Mapping[str, object], operands: list[Seen]) -> Seen:
        if "prefix" in data:
            names = [data["fact_type"], data["prefix"]]
        else:
            names = [data["fact_type"], data["fact_key"]]
        if operands:
            _same([operand.form for operand in operands], names, "the name of a fact")
        fact_type, name = str(names[0]), str(names[1])
        if "prefix" in data:
            return self._facts_by_prefix(data, fact_type, name)
        wanted = data["payload_hash"]
        if self._facts is None:
            form = None if wanted is None else encoded(Fact(fact_type, name, str(wanted), {}))
            return Seen(form, None if wanted is None else OPAQUE)
        found = self._facts.get(fact_type, name)
        _same(None if found is None else found.payload_hash, wanted, f"the hash of fact {fact_type} {name}")
        return Seen(encoded(found), found)

    def _facts_by_prefix(self, data: Mapping[str, object], fact_type: str, prefix: str) -> Seen:
        if self._facts is None:
            return Seen({"count": data["count"], "list": data["list"]}, OPAQUE)
        found = self._facts.by_prefix(fact_type, prefix)
        _same(
            [len(found), facts_hash(found)], [data["count"], data["list"]], f"the facts {fact_type} {prefix}"
        )
        return Seen(encoded(found), found)

    def _field_ref(self, data: Mapping[str, object], children: tuple[int, ...]) -> Seen:
        [child] = children
        known = self._fields[str(data["path"])]
        _same(known.node, child, "the step of the field")
        empty = isinstance(known.value, Empty)
        _same(data["result"], None if empty else known.form, "the value of the field")
        return Seen(data["result"], None if empty else known.value)

    def _op(
        self, data: Mapping[str, object], operands: list[Seen], children: tuple[int, ...], number: int
    ) -> Seen:
        name, form, params = str(data["op"]), data["result"], _params(data)
        if name == "field":
            return self._field(form, params, operands, number)
        if name == "passport":
            return self._passport(form, children, number)
        result = self._computed(name, params, operands)
        if result is None:  # attested: only the facts would tell
            return Seen(form, _decoded_or_opaque(form))
        _same(form, result.form, f"the result of {name}")
        return result

    def _computed(self, name: str, params: Mapping[str, object], operands: list[Seen]) -> Seen | None:
        """The result computed again; None where only the facts would tell."""
        passed = _passed_on(name, params, operands)
        if passed is not None:
            return passed
        if any(operand.value is OPAQUE for operand in operands):
            return self._over_opaque(name, operands)
        values = [operand.value for operand in operands if not isinstance(operand.value, Opaque)]
        aggregated = name in _AGGREGATES
        value = (
            self._aggregate(name, params, values)
            if aggregated
            else operations.apply(name, params, tuple(values))
        )
        return Seen(encoded(value), value)

    def _over_opaque(self, name: str, operands: list[Seen]) -> Seen | None:
        """Some things hold whatever the facts say; some are attested; nothing else may rest on what is unseen."""
        first = operands[0]
        match name:
            case "isSome":
                return Seen(first.form is not None, first.form is not None)
            case "unwrapOr" if isinstance(first.value, Opaque):
                return first
            case "count" if isinstance(first.form, dict):
                count = first.form["count"]
                return Seen(count, int(str(count)))
            case "recordGet":
                return None
            case _ if name in _AGGREGATES:
                return None
            case _:
                raise RuleError("PROOF_MISMATCH", f"{name} over something that cannot be seen")

    def _aggregate(self, name: str, params: Mapping[str, object], values: list[Value]) -> Value:
        items, *rest = values
        start: Value = rest.pop(0) if name == "fold" else None
        call = callable_from(params, rest, self._limits) if "lambda" in params else _no_lambda
        return aggregate.run(name, dict(params), items, start, call)

    def _field(self, form: object, params: Mapping[str, object], operands: list[Seen], number: int) -> Seen:
        value = operands[0]
        path = str(params["path"])
        _same(form, value.form, f"the value of field {path}")
        if path in self._fields:
            raise RuleError("RULE_TYPE_ERROR", f"two fields {path}")
        listed = params.get("audiences", ["public"])
        audiences = tuple(map(str, listed)) if isinstance(listed, list) else ()
        self._fields[path] = VerifiedField(path, str(params["type"]), audiences, form, value.value, number)
        return value

    def _passport(self, form: object, children: tuple[int, ...], number: int) -> Seen:
        by_path = sorted(self._fields.values(), key=lambda each: each.path.encode())
        _same(list(children), [each.node for each in by_path], "the fields of the root")
        _same(form, len(by_path), "the number of fields")
        _same(number, len(self._nodes) - 1, "the place of the root")
        return Seen(form, len(by_path))

    def conclude(self, document: Mapping[str, object]) -> VerifiedProof:
        last = self._nodes[-1]["data"]
        if not isinstance(last, dict) or last.get("op") != "passport":
            raise ProofError("the proof", "its last step is not the root")
        index = {path: each.node for path, each in self._fields.items()}
        if document["field_index"] != index:
            raise ProofError("field_index", "it names other steps than the fields'")
        if document["root_hash"] != self._hashes[-1]:
            raise ProofError(
                "root_hash", f"it is {document['root_hash']}, but the root's is {self._hashes[-1]}"
            )
        return VerifiedProof(self._hashes[-1], dict(self._fields), tuple(self._statements), self._nodes)


def _passed_on(name: str, params: Mapping[str, object], operands: list[Seen]) -> Seen | None:
    """The operations that choose among their operands; None for the others."""
    match name:
        case "if":
            condition, chosen = operands
            _same(condition.form, {"then": True, "else": False}[str(params["branch"])], "the branch taken")
            return chosen
        case "&&" | "||":
            return _short_circuit(name, operands)
        case "empty":
            [reason] = operands
            why = Empty(str(params["kind"]), str(reason.form))
            return Seen(encoded(why), why)
        case "requireSome":
            [operand] = operands
            if operand.form is None:
                raise RuleError("NOT_FOUND", "a value that is required is absent")
            return operand
        case _:
            return None


def _params(data: Mapping[str, object]) -> Mapping[str, object]:
    params = data.get("params", {})
    if not isinstance(params, dict):
        raise TypeError("params")
    return params


def _same(found: object, expected: object, what: str) -> None:
    if type(found) is not type(expected) or found != expected:
        raise RuleError("PROOF_MISMATCH", f"{what}: found {_short(found)}, expected {_short(expected)}")


def _short(form: object) -> str:
    text = repr(form)
    return text if len(text) <= 120 else text[:117] + "…"  # noqa: PLR2004 - enough to recognise it


def _short_circuit(name: str, operands: list[Seen]) -> Seen:
    decides = name == "||"
    if not operands or any(operand.form is not (not decides) for operand in operands[:-1]):
        raise RuleError("PROOF_MISMATCH", f"{name} went on after it was decided")
    if not isinstance(operands[-1].form, bool):
        raise RuleError("PROOF_MISMATCH", f"{name} of something that is no Bool")
    return operands[-1]


def _decoded_or_opaque(form: object) -> Known:
    try:
        return decoded(form)
    except ValueError:
        return OPAQUE


def _no_lambda(*_: Value) -> Value:
    raise RuleError("RULE_TYPE_ERROR", "this operation needs a lambda")
