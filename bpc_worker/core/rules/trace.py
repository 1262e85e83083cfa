"""What each step of an evaluation leaves in the proof."""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from bpc_worker.core import canonical_json, proof
from bpc_worker.core.hashing import sha256_hex
from bpc_worker.core.proof import ProofBuilder
from bpc_worker.core.rules import typed
from bpc_worker.core.rules.source import NOWHERE, Limits, Span, limit_exceeded
from bpc_worker.core.rules.types import show
from bpc_worker.core.rules.values import Empty, Fact, Value, encoded, encoded_list

NO_NODE = -1
_BYTES_PER_STEP = 16  # of a step's data, which is kept


class Ref(NamedTuple):
    """A value, and the step of the proof that gives it."""

    value: Value
    node: int


class Meter:
    """Counts the work of an evaluation, which ends at the limit."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.steps
        self._spent = 0

    def spend(self, steps: int, span: Span = NOWHERE) -> None:
        self._spent += steps
        if self._spent > self._limit:
            hint = "shorter lists, or a higher limit in the configuration"
            raise limit_exceeded("the evaluation takes too many steps", self._limit, span, hint=hint)


class Trace:
    """Adds steps to a proof as long as it is on: what a lambda does for each element leaves none."""

    def __init__(self, meter: Meter, limits: Limits, *, on: bool) -> None:
        self._meter = meter
        self._limit = limits.nodes
        self._beside: list[int] = []  # asserts and statements of the field at hand
        self._cited: list[str] = []
        self.on = on
        self.proof = ProofBuilder()

    def constant(self, value: Value) -> Ref:
        return Ref(value, self._add(proof.CONST, {"value": self._form(value)}) if self.on else NO_NODE)

    def table(self, name: str, rows: Mapping[str, Value]) -> Ref:
        if not self.on:
            return Ref(rows, NO_NODE)
        return Ref(rows, self._add(proof.CONST, {"table": name, "value": self._form(rows)}))

    def law_date(self, value: date) -> Ref:
        if not self.on:
            return Ref(value, NO_NODE)
        return Ref(value, self._add(proof.CONST, {"law_date": True, "value": self._form(value)}))

    def fact(self, fact_type: str, fact_key: str, found: Fact | None, names: tuple[Ref, ...]) -> Ref:
        if not self.on:
            return Ref(found, NO_NODE)
        data = {
            "fact_key": fact_key,
            "fact_type": fact_type,
            "payload_hash": None if found is None else found.payload_hash,
        }
        return Ref(found, self._add(proof.FACT_GET, data, names))

    def facts(self, fact_type: str, prefix: str, found: tuple[Fact, ...], names: tuple[Ref, ...]) -> Ref:
        """One step for all of them: their number, and the hash of their names and payload hashes."""
        if not self.on:
            return Ref(found, NO_NODE)
        listed = encoded_list(found, self._meter.spend)
        data = {"fact_type": fact_type, "prefix": prefix, **listed}
        return Ref(found, self._add(proof.FACT_GET, data, names))

    def field_ref(self, path: str, field: Ref) -> Ref:
        """An empty field is read as none."""
        value = None if isinstance(field.value, Empty) else field.value
        if not self.on:
            return Ref(value, NO_NODE)
        data = {"path": path, "result": self._form(value)}
        return Ref(value, self._add(proof.FIELD_REF, data, (field,)))

    def operation(
        self, name: str, params: Mapping[str, object], operands: tuple[Ref, ...], value: Value
    ) -> Ref:
        if not self.on:
            return Ref(value, NO_NODE)
        data: dict[str, object] = {"op": name, "result": self._form(value)}
        if params:
            data["params"] = dict(params)
        return Ref(value, self._add(proof.OP, data, operands))

    def assertion(self, code: str, message: str, condition: Ref) -> None:
        if self.on:
            data = {"code": code, "message": message, "result": True}
            self._beside.append(self._add(proof.ASSERT, data, (condition,)))

    def statement(self, code: str, message: str, condition: Ref) -> Ref:
        holds = condition.value is True
        if not self.on:
            return Ref(holds, NO_NODE)
        data = {"code": code, "message": message, "result": holds}
        self._beside.append(self._add(proof.COMPLIANCE_EMIT, data, (condition,)))
        return Ref(holds, self._beside[-1])

    def cite(self, text: str) -> None:
        self._cited.append(text)

    def field(self, field: typed.TypedField, result: Ref) -> Ref:
        """Binds path and value, and what was asserted, stated and cited on the way."""
        beside, cited = self._beside, self._cited
        self._beside, self._cited = [], []
        if not self.on:
            return Ref(result.value, NO_NODE)
        params: dict[str, object] = {"path": field.path, "type": show(field.type)}
        if field.audiences != ("public",):
            params["audiences"] = list(field.audiences)
        if cited:
            params["cites"] = list(dict.fromkeys(cited))
        data = {"op": "field", "params": params, "result": self._form(result.value)}
        besides = tuple(Ref(None, number) for number in dict.fromkeys(beside))
        number = self._add(proof.OP, data, (result, *besides))
        self.proof.fields[field.path] = number
        return Ref(result.value, number)

    def _form(self, value: Value) -> object:
        return encoded(value, self._meter.spend)

    def _add(self, kind: str, data: Mapping[str, object], operands: tuple[Ref, ...] = ()) -> int:
        before = self.proof.written
        number = self.proof.add(kind, data, tuple(operand.node for operand in operands))
        self._meter.spend((self.proof.written - before) // _BYTES_PER_STEP)
        if self.proof.size > self._limit:
            raise limit_exceeded("the proof has too many steps", self._limit)
        return number


def lambda_params(function: typed.LambdaNode) -> dict[str, object]:
    """What a proof keeps of a lambda: its text, and the names and types of what it is given."""
    return {
        "lambda": function.text,
        "takes": [[name, show(kind)] for name, kind in function.parameters],
        "uses": [[capture_name(capture), show(capture.type)] for capture in function.captures],
    }


def capture_name(capture: typed.Capture) -> str:
    match capture:
        case typed.Var(name):
            return name
        case typed.FieldRef(path):
            return f"field {path}"
        case typed.TableRef(name):
            return f"table {name}"
        case typed.LawDate():
            return "lawDate"


def facts_hash(facts: tuple[Fact, ...]) -> str:
    """Binds type, key and payload hash of each, in order of key; the same as of any other list."""
    return sha256_hex(canonical_json.encode([encoded(fact) for fact in facts]))
