"""What each step of an evaluation leaves in the proof."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bpc_worker.core.base import canonical_json, derivation
from bpc_worker.core.base.audience import NOBODY, PUBLIC
from bpc_worker.core.base.canonical_json import quoted
from bpc_worker.core.base.canonical_json import text_of_checked as text
from bpc_worker.core.base.derivation import ProofBuilder
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.rules import typed
from bpc_worker.core.rules.source import NOWHERE, Limits, Span, limit_exceeded
from bpc_worker.core.rules.types import show
from bpc_worker.core.rules.values import Fact, Value, count_and_hash, encoded, form_text, or_none

NO_NODE = -1
_BYTES_PER_STEP = 16  # of a step's data, which is kept


@dataclass(slots=True)
class Ref:
    """A value, and the step of the proof that gives it."""

    value: Value
    node: int


class Meter:
    """Counts the work of an evaluation, which ends at the limit."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.steps
        self.spent = 0

    def spend(self, steps: int, span: Span = NOWHERE) -> None:
        self.spent += steps
        if self.spent > self._limit:
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
        if not self.on:
            return Ref(value, NO_NODE)
        return Ref(value, self._add(derivation.CONST, f'{{"value":{self._form(value)}}}'))

    def table(self, name: str, rows: Mapping[str, Value], *, draft: bool) -> Ref:
        if not self.on:
            return Ref(rows, NO_NODE)
        mark = '"draft":true,' if draft else ""
        data = f'{{{mark}"table":{quoted(name)},"value":{self._form(rows)}}}'
        return Ref(rows, self._add(derivation.CONST, data))

    def law_date(self, value: date) -> Ref:
        if not self.on:
            return Ref(value, NO_NODE)
        return Ref(value, self._add(derivation.CONST, f'{{"law_date":true,"value":{self._form(value)}}}'))

    def fact(self, fact_type: str, fact_key: str, found: Fact | None, names: Sequence[Ref]) -> Ref:
        if not self.on:
            return Ref(found, NO_NODE)
        hashed = text(None if found is None else found.payload_hash)
        data = f'{{"fact_key":{quoted(fact_key)},"fact_type":{quoted(fact_type)},"payload_hash":{hashed}}}'
        return Ref(found, self._add(derivation.FACT_GET, data, names))

    def declared(self, node: typed.Declared, fact_type: str, found: Fact | None, value: Value) -> Ref:
        """One step for the fact and what is read in it."""
        if not self.on:
            return Ref(value, NO_NODE)
        named = f'"fact_key":{quoted(node.name)},"fact_type":{quoted(fact_type)}'
        hashed = text(None if found is None else found.payload_hash)
        asked = f'"as":{quoted(f"{node.function} {node.word}")},{named},"payload_hash":{hashed}'
        return Ref(value, self._add(derivation.FACT_GET, f'{{{asked},"result":{self._form(value)}}}'))

    def facts(self, fact_type: str, prefix: str, found: tuple[Fact, ...], names: Sequence[Ref]) -> Ref:
        """One step for all of them: their number, and the hash of their names and payload hashes."""
        if not self.on:
            return Ref(found, NO_NODE)
        count, hashed = count_and_hash(found, self._meter.spend)
        listed = f'"count":{count},"fact_type":{quoted(fact_type)},"list":"{hashed}"'
        return Ref(found, self._add(derivation.FACT_GET, f'{{{listed},"prefix":{quoted(prefix)}}}', names))

    def field_ref(self, path: str, field: Ref) -> Ref:
        """An empty field is read as none."""
        value = or_none(field.value)
        if not self.on:
            return Ref(value, NO_NODE)
        data = f'{{"path":{quoted(path)},"result":{self._form(value)}}}'
        return Ref(value, self._add(derivation.FIELD_REF, data, (field,)))

    def operation(
        self, name: str, params: Mapping[str, object], operands: Sequence[Ref], value: Value
    ) -> Ref:
        if not self.on:
            return Ref(value, NO_NODE)
        written = f'"params":{_members(params)},' if params else ""
        data = f'{{"op":{quoted(name)},{written}"result":{self._form(value)}}}'
        return Ref(value, self._add(derivation.OP, data, operands))

    def assertion(self, code: str, message: str, condition: Ref) -> None:
        if self.on:
            self._beside.append(
                self._add(derivation.ASSERT, _stated(code, message, holds=True), (condition,))
            )

    def statement(self, node: typed.Emit, condition: Ref) -> Ref:
        holds = condition.value is True
        if not self.on:
            return Ref(holds, NO_NODE)
        data = f'{_stated(node.code, node.message, holds=holds)[:-1]},"severity":{quoted(node.severity)}}}'
        self._beside.append(self._add(derivation.COMPLIANCE_EMIT, data, (condition,)))
        return Ref(holds, self._beside[-1])

    def cite(self, law: str) -> None:
        self._cited.append(law)

    def field(self, field: typed.TypedField, result: Ref) -> Ref:
        """Binds path and value, and what was asserted, stated and cited on the way."""
        beside, cited = self._beside, self._cited
        self._beside, self._cited = [], []
        if not self.on:
            return Ref(result.value, NO_NODE)
        params: dict[str, object] = {"path": field.path, "type": show(field.type)}
        if field.audiences != (PUBLIC,):
            params["audiences"] = list(field.audiences or (NOBODY,))
        if cited:
            params["cites"] = list(dict.fromkeys(cited))
        besides = tuple(Ref(None, number) for number in dict.fromkeys(beside))
        bound = self.operation("field", params, (result, *besides), result.value)
        self.proof.fields[field.path] = bound.node
        return bound

    def _form(self, value: Value) -> str:
        return form_text(value, self._meter.spend)

    def _add(self, kind: str, data: str, operands: Sequence[Ref] = ()) -> int:
        """The number of a step, of which `data` is the canonical text: members stand in order of name."""
        encoded = data.encode()
        number = self.proof.add(kind, encoded, tuple([operand.node for operand in operands]))
        self._meter.spend(len(encoded) // _BYTES_PER_STEP)
        if self.proof.size > self._limit:
            raise limit_exceeded("the proof has too many steps", self._limit)
        return number


def _members(params: Mapping[str, object]) -> str:
    """Their canonical text; the names are those of the format."""
    return "{" + ",".join([f'"{name}":{text(params[name])}' for name in sorted(params)]) + "}"


def _stated(code: str, message: str, *, holds: bool) -> str:
    return f'{{"code":{quoted(code)},"message":{quoted(message)},"result":{text(holds)}}}'


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
