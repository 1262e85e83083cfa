"""The typed tree: what is meant. Names are resolved, parameters known, types fit."""

from collections.abc import Mapping
from dataclasses import dataclass

from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.draws import Draw
from bpc_worker.core.rules.law import Law
from bpc_worker.core.rules.source import Span
from bpc_worker.core.rules.types import Type
from bpc_worker.core.rules.values import Value


@dataclass(frozen=True, slots=True)
class Const:
    value: Value
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Var:
    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class FieldRef:
    path: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class TableRef:
    name: str
    type: Type  # a Map
    span: Span


@dataclass(frozen=True, slots=True)
class LawDate:
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class FactGet:
    fact_type: "Node"
    fact_key: "Node"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class FactsByPrefix:
    fact_type: "Node"
    prefix: "Node"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Declared:
    """given, declared, measured, lastMeasured: one value of the vocabulary, in one step."""

    function: str
    word: str  # what it is read as
    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class MissingRequired:
    law: Law
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of operations.OPERATIONS."""

    name: str
    parameters: Mapping[str, object]
    operands: tuple["Node", ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a chain: the result so far, combined with an operand."""

    operator: str
    operand: "Node"
    span: Span


@dataclass(frozen=True, slots=True)
class ChainOp:
    first: "Node"
    steps: tuple[Step, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class ShortCircuit:
    """&& and ||: operands from left to right, until one decides."""

    operator: str
    operands: tuple["Node", ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    condition: "Node"
    then: "Node"
    otherwise: "Node"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class LetNode:
    name: str
    value: "Node"


@dataclass(frozen=True, slots=True)
class AssertNode:
    condition: "Node"
    code: str
    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class CiteNode:
    text: str


@dataclass(frozen=True, slots=True)
class UsableNode:
    condition: "Node"
    detail: "Node"


StatementNode = LetNode | AssertNode | CiteNode | UsableNode


@dataclass(frozen=True, slots=True)
class BlockNode:
    statements: tuple[StatementNode, ...]
    result: "Node"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class EmptyNode:
    kind: str
    reason: str
    detail: "Node | None"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Emit:
    code: str
    condition: "Node"
    message: str
    severity: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class LambdaNode:
    parameters: tuple[tuple[str, Type], ...]
    body: "Node"
    captures: tuple["Capture", ...]  # what it uses from outside, in order of first use
    text: str


@dataclass(frozen=True, slots=True)
class Aggregate:
    """map, filter, fold, sumQty, sumDec, sumBy, distinct, count: one step of a proof each."""

    name: str
    items: "Node"
    function: LambdaNode | None
    start: "Node | None"  # of a fold
    parameters: Mapping[str, object]
    type: Type
    span: Span


Capture = Var | FieldRef | TableRef | LawDate
Leaf = FieldRef | TableRef | LawDate | Declared | MissingRequired
Rarer = Leaf | FactGet | FactsByPrefix | EmptyNode | Emit | Aggregate
Node = Const | Var | Op | ChainOp | ShortCircuit | If | BlockNode | Rarer


@dataclass(frozen=True, slots=True)
class TypedField:
    path: str
    type: Type
    audiences: tuple[str, ...]
    body: Node
    uses: tuple[str, ...]  # the fields it needs, sorted
    may_be_empty: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ExpectValue:
    path: str
    operator: str
    value: Node


Expectation = (
    ExpectValue | syntax.ExpectEmpty | syntax.ExpectAudiences | syntax.ExpectError | syntax.ExpectCompliance
)


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    fixtures: syntax.Fixtures
    expectations: tuple[Expectation, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    cases: int
    seed: int
    fixtures: syntax.Fixtures
    draws: tuple[Draw, ...]
    claim: Node
    span: Span


@dataclass(frozen=True, slots=True)
class TypedModule:
    """Checked and in order: nothing about it can fail any more but what depends on the facts."""

    source: str
    fields: Mapping[str, TypedField]
    order: tuple[str, ...]
    tables: Mapping[str, Mapping[str, Value]]
    tests: tuple[Example | Property, ...]
    warnings: tuple[str, ...]
    audiences: tuple[str, ...]  # whom a passport made by it may be for, sorted
    statements: Mapping[str, tuple[str, ...]]  # who may see each statement, by its code, stated or not
    drafts: frozenset[str] = frozenset()  # tables that their author marked so
    law: Law | None = None

    @property
    def sets(self) -> frozenset[tuple[str, ...]]:
        """The distinct sets of audiences that are declared; a set of nobody is none."""
        declared = {*(field.audiences for field in self.fields.values()), *self.statements.values()}
        return frozenset(declared - {()})
