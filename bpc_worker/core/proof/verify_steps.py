"""The steps of a proof, one after another: what each gives, from what is known of those before it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from bpc_worker.core.base import derivation
from bpc_worker.core.base.audience import AUDIENCES, NOBODY, PUBLIC
from bpc_worker.core.base.forms import FormError, parse_salt
from bpc_worker.core.proof.completeness import missing_required
from bpc_worker.core.proof.facts import ProofFacts
from bpc_worker.core.proof.recompute import recomputed
from bpc_worker.core.proof.values import (
    Known,
    Seen,
    StepError,
    conforms,
    expect,
    read_constant,
    read_plain,
    read_text,
    shown,
)
from bpc_worker.core.rules.evaluate import Statement
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.parse_literals import SEVERITIES
from bpc_worker.core.rules.relambda import FIELD, LAW_DATE, TABLE
from bpc_worker.core.rules.source import MAX_NESTING, Limits
from bpc_worker.core.rules.trace import Meter
from bpc_worker.core.rules.type_text import declared_type
from bpc_worker.core.rules.types import Type, show
from bpc_worker.core.rules.values import Empty, encoded

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(rf"{_NAME.pattern}(?:\.{_NAME.pattern})*")
_ROOT = "passport"
_ANSWERS = frozenset({"result", "payload_hash", "count", "list"})  # the rest of the data says what was asked

Data = Mapping[str, object]
Children = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VerifiedField:
    path: str
    type: Type
    audiences: tuple[str, ...]
    form: object
    value: Known
    node: int


class Steps:
    """Takes the steps of a proof in order; StepError or RuleError at the first that does not hold."""

    def __init__(self, law_date: date | None, facts: FactSet | None, limits: Limits) -> None:
        self._law_date = law_date
        self._limits = limits
        self._meter = Meter(limits)
        self._facts = ProofFacts(facts, self._meter)
        self._seen: list[Seen | None] = []  # None: not a value that another step may use
        self._stated: dict[int, bool] = {}  # asserts and statements, and whether a field names them
        self._spare: list[int] = []  # computed for a field, and not used
        self._asked: set[tuple[str, bytes, Children]] = set()
        self._used: set[int] = set()
        self._root: int | None = None
        self._codes: set[str] = set()
        self._outer: set[str] = set()  # what leads to fields
        self.fields: dict[str, VerifiedField] = {}
        self.statements: list[Statement] = []

    def add(self, kind: str, data: Data, children: Children) -> None:
        self._check_new(kind, data, children)
        spare = len(self._spare)
        seen = self._step(kind, data, children)
        self._used.update(children[:1], set(children).difference(self._spare[spare:]))
        self._seen.append(seen)

    def _step(self, kind: str, data: Data, children: Children) -> Seen | None:
        match kind:
            case derivation.CONST:
                return self._const(data, children)
            case derivation.FACT_GET:
                return self._facts.get(data, [self._operand(child) for child in children])
            case derivation.FIELD_REF:
                return self._field_ref(data, children)
            case derivation.ASSERT:
                expect(self._state(data, children), True, "an assertion")
                return None
            case derivation.COMPLIANCE_EMIT:
                return self._emit(data, children)
            case _:
                return self._op(data, children)

    def check_complete(self) -> None:
        """The last step is the root, and every other one leads to it: the root's hash covers them all."""
        last = len(self._seen) - 1
        if self._root != last:
            raise StepError("the last step is not the root")
        leading = set(self._used)
        for step in self._spare:
            if step in leading:
                raise StepError(f"step {step} is used, and said not to be")
            leading.add(step)
        if len(leading) < last:
            raise StepError(f"nothing rests on step {min(set(range(last)) - leading)}")
        unnamed = [step for step, named in self._stated.items() if not named]
        if unnamed:
            raise StepError(f"no field names the statement of step {unnamed[0]}")

    def _check_new(self, kind: str, data: Data, children: Children) -> None:
        """What is asked once is answered once: two answers cannot both be true."""
        if kind == derivation.CONST and len(data) > 1:  # a table or the law date: its value is the answer
            asked = {key: value for key, value in data.items() if key not in {"value", "draft"}}
        else:
            asked = {key: value for key, value in data.items() if key not in _ANSWERS}
        key = (kind, derivation.data_bytes(asked), children)
        if key in self._asked:
            raise StepError("the same step is there already")
        self._asked.add(key)

    def _operand(self, child: int) -> Seen:
        seen = self._seen[child]
        if seen is None:
            raise StepError(f"step {child} gives no value to compute with")
        return seen

    def _const(self, data: Data, children: Children) -> Seen:
        if children:
            raise StepError("a constant rests on nothing")
        if "table" in data:
            members(data, "table", "value", *_marked(data))
            name = read_text(data["table"])
            rows = read_constant(data["value"])
            if not _NAME.fullmatch(name) or not isinstance(rows, Mapping):
                raise StepError(f"{shown(name)} is no table")
            return Seen(data["value"], rows, f"{TABLE}{name}")
        if "law_date" in data:
            members(data, "law_date", "value")
            expect(data["law_date"], True, "law_date")
            if self._law_date is None:
                raise StepError("a law date, where none applies")
            expect(data["value"], encoded(self._law_date), "the law date")
            return Seen(data["value"], self._law_date, LAW_DATE)
        members(data, "value")
        return Seen(data["value"], read_plain(data["value"]))

    def _field_ref(self, data: Data, children: Children) -> Seen:
        members(data, "path", "result")
        field = self.fields.get(read_text(data["path"]))
        if field is None or children != (field.node,):
            raise StepError(f"no field {shown(data['path'])} at step {shown(list(children))}")
        empty = isinstance(field.value, Empty)
        expect(data["result"], None if empty else field.form, f"the value of field {field.path}")
        return Seen(data["result"], None if empty else field.value, f"{FIELD}{field.path}")

    def _emit(self, data: Data, children: Children) -> Seen:
        severity = read_text(data.get("severity"))
        if severity not in SEVERITIES:
            raise StepError(f"{shown(severity)} is no severity")
        holds = self._state({key: data[key] for key in data if key != "severity"}, children)
        stated = Statement(read_text(data["code"]), holds, read_text(data["message"]), severity)
        if stated.code in self._codes:  # a passport must not say yes and no under one name
            raise StepError(f"two statements {shown(stated.code)}")
        self._codes.add(stated.code)
        self.statements.append(stated)
        return Seen(holds, holds)

    def _state(self, data: Data, children: Children) -> bool:
        """What an assertion or a statement says of its condition."""
        members(data, "code", "message", "result")
        read_text(data["code"])
        read_text(data["message"])
        conditions = [self._operand(child) for child in children]
        if len(conditions) != 1 or not isinstance(conditions[0].value, bool):
            raise StepError("it rests on one condition, a Bool")
        expect(data["result"], conditions[0].value, "its condition")
        self._stated[len(self._seen)] = False
        return conditions[0].value

    def _op(self, data: Data, children: Children) -> Seen | None:
        if data.get("op") == _ROOT:
            self._passport(data, children)
            return None
        members(data, "op", "result", *(["params"] if "params" in data else []))
        name, params = read_text(data["op"]), data.get("params", {})
        if not isinstance(params, dict) or ("params" in data and not params):
            raise StepError("params is an object, and left out where there are none")
        match name:
            case "field":
                self._field(params, data["result"], children)
                return None
            case "missingRequired":
                count = self._missing_required(params, children)
                expect(data["result"], count, "the number of points that are missing")
                return Seen(count, count)
            case _:
                operands = [self._operand(child) for child in children]
                return recomputed(name, params, operands, data["result"], self._limits, self._meter)

    def _missing_required(self, params: Data, children: Children) -> int:
        """Over the law date, then the fields of the points that are asked, in order of path."""
        by_node = {field.node: field for field in self.fields.values()}
        below = [by_node[child] for child in children[1:] if child in by_node]
        named = children and self._operand(children[0]).name == LAW_DATE
        if not named or len(below) < len(children) - 1:
            raise StepError("it rests on the law date, and on fields")
        return missing_required(params, {field.path: field.value for field in below})

    def _field(self, params: Data, form: object, children: Children) -> None:
        path, kind, audiences = read_field(params)
        if not children:
            raise StepError(f"the field {path} rests on nothing")
        value, *beside = children
        seen = self._operand(value)
        expect(form, seen.form, f"the value of field {path}")
        if not isinstance(seen.value, Empty) and not conforms(seen.value, kind):
            raise StepError(f"the value of field {path} is no {show(kind)}")
        self._check_beside(beside, path)
        self._add_field(VerifiedField(path, kind, audiences, form, seen.value, len(self._seen)))

    def _check_beside(self, beside: list[int], path: str) -> None:
        """First what was asserted and stated on the way to the value, then what was computed and not used."""
        stated = [step for step in beside if step in self._stated]
        spare = sorted(set(beside).difference(stated))
        if beside != [*dict.fromkeys(stated), *spare]:
            raise StepError(
                f"what the field {path} rests on beside its value is out of order, or there twice"
            )
        for step in spare:
            self._operand(step)
        self._spare += spare
        self._stated |= dict.fromkeys(stated, True)

    def _add_field(self, field: VerifiedField) -> None:
        """Fields are leaves: none is another, and none lies inside another."""
        names = field.path.split(".")
        outer = {".".join(names[:length]) for length in range(1, len(names))}
        if field.path in self.fields or field.path in self._outer or not outer.isdisjoint(self.fields):
            raise StepError(f"the field {field.path} is another one, or one lies inside the other")
        self._outer |= outer
        self.fields[field.path] = field

    def _passport(self, data: Data, children: Children) -> None:
        members(data, "op", "result", "salt")
        by_path = [self.fields[path].node for path in sorted(self.fields)]
        expect([data["result"], list(children)], [len(by_path), by_path], "the root")
        try:
            parse_salt(data["salt"])
        except FormError as error:
            raise StepError(str(error)) from error
        self._root = len(self._seen)


def _marked(data: Data) -> list[str]:
    """A draft says so; a table that is none says nothing."""
    if "draft" in data:
        expect(data["draft"], True, "draft")
    return [name for name in data if name == "draft"]


def members(data: Data, *names: str) -> None:
    if data.keys() != set(names):
        raise StepError(f"expected {', '.join(names)}, found {shown(sorted(data))}")


def read_field(params: Data) -> tuple[str, Type, tuple[str, ...]]:
    """Path, type and audiences of a field; the public alone is not written, none at all is nobody."""
    optional = [name for name in ("audiences", "cites") if name in params]
    members(params, "path", "type", *optional)
    path = read_text(params["path"])
    if not _PATH.fullmatch(path) or path.count(".") >= MAX_NESTING:
        raise StepError(f"{shown(path)} is no path")
    audiences, cites = _texts(params, "audiences"), _texts(params, "cites")
    nobody = audiences == [NOBODY]
    if not nobody and (audiences == [PUBLIC] or audiences != sorted(set(audiences) & AUDIENCES.keys())):
        raise StepError(f"{shown(audiences)} are no audiences")
    if len(set(cites)) < len(cites):
        raise StepError("something is cited twice")
    return path, declared_type(read_text(params["type"])), () if nobody else tuple(audiences or [PUBLIC])


def _texts(params: Data, name: str) -> list[str]:
    """A list of texts; one of none is not written."""
    listed = params.get(name, [])
    if not isinstance(listed, list) or (name in params and not listed):
        raise StepError(f"{name}: {shown(listed)} is no list of texts")
    return [read_text(each) for each in listed]
