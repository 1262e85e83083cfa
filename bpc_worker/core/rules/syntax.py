"""The untyped tree: what was written."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from bpc_worker.core.base.calendar import Moment, Month
from bpc_worker.core.rules.law_syntax import LawBlock
from bpc_worker.core.rules.source import Span
from bpc_worker.core.rules.types import Type
from bpc_worker.core.rules.values import Texts


@dataclass(frozen=True, slots=True)
class Literal:
    """true, 42, 1.50, "text", none, date("2027-02-18"), month("2027-02"), moment(…) or texts(…)."""

    value: bool | int | Decimal | str | date | Month | Moment | Texts | None
    span: Span


@dataclass(frozen=True, slots=True)
class QuantityLiteral:
    value: Decimal
    unit: str
    span: Span


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple["Argument", ...]
    name_span: Span
    span: Span
    audiences: tuple[str, ...] | None = None  # emitCompliance(…) for these
    severity: str | None = None  # emitCompliance(…) severity stop


@dataclass(frozen=True, slots=True)
class RecordLiteral:
    """record(name: e, …)"""

    members: tuple[tuple[str, "Expression"], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Lambda:
    parameters: tuple[Name, ...]
    body: "Expression"
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: "Expression"
    span: Span


Link = tuple[str, Span, "Expression"]  # an operator, its place, what stands right of it


@dataclass(frozen=True, slots=True)
class Chain:
    """`a + b - c`: one level of operators of the same strength, from left to right."""

    first: "Expression"
    rest: tuple[Link, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: "Expression"
    then: "Expression"
    otherwise: "Expression"
    span: Span


@dataclass(frozen=True, slots=True)
class Let:
    name: Name
    value: "Expression"
    span: Span


@dataclass(frozen=True, slots=True)
class Assertion:
    condition: "Expression"
    code: str
    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Citation:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Usable:
    """usable(condition, "detail")"""

    condition: "Expression"
    detail: "Expression"
    span: Span


Statement = Let | Assertion | Citation | Usable


@dataclass(frozen=True, slots=True)
class Block:
    """`let …; assert(…); cite(…); e`: statements in order, then the value."""

    statements: tuple[Statement, ...]
    result: "Expression"
    span: Span


Expression = Literal | QuantityLiteral | RecordLiteral | Name | Call | Unary | Chain | Conditional | Block
Argument = Expression | Lambda


@dataclass(frozen=True, slots=True)
class Field:
    path: str
    type: Type
    audiences: tuple[str, ...]
    body: Expression
    path_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    type: Type
    rows: tuple[tuple[str, Expression], ...]
    draft: bool
    name_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Variable:
    """A generated value's name inside a fixture."""

    name: str
    span: Span


Json = None | bool | int | str | Variable | tuple["Json", ...] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class FactFixture:
    name: str
    fact_type: str
    fact_key: str
    payload: dict[str, Json]
    span: Span


@dataclass(frozen=True, slots=True)
class Fixtures:
    facts: tuple[FactFixture, ...]
    law_date: date | None


@dataclass(frozen=True, slots=True)
class ExpectValue:
    """expect(path, == e)"""

    path: str
    operator: str
    value: Expression
    path_span: Span
    compared_span: Span  # of operator and value


@dataclass(frozen=True, slots=True)
class ExpectEmpty:
    """expectEmpty(path, withheld) or expectEmpty(path, missing, "not declared")"""

    path: str
    kind: str
    path_span: Span
    reason: str | None = None  # any, where none is named


@dataclass(frozen=True, slots=True)
class ExpectAudiences:
    """expectAudiences(path, authorities), and of a statement expectAudiences(compliance.CODE, authorities)"""

    path: str
    audiences: tuple[str, ...]  # sorted
    path_span: Span

    @property
    def statement(self) -> str | None:
        """Its code; no field has such a path."""
        first, _, code = self.path.partition(".")
        return code if first == "compliance" else None


@dataclass(frozen=True, slots=True)
class ExpectError:
    """expectError("CODE")"""

    code: str


@dataclass(frozen=True, slots=True)
class ExpectCompliance:
    """expectCompliance("CODE", true) or expectCompliance("CODE", false, stop)"""

    code: str
    holds: bool
    severity: str | None = None  # any, where none is named


Expectation = ExpectValue | ExpectEmpty | ExpectAudiences | ExpectError | ExpectCompliance


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    fixtures: Fixtures
    expectations: tuple[Expectation, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Generator:
    """forall e: Dec(1) in [0.1, 500.0]   or   in {"M1", "N1"}"""

    name: str
    type: Type
    choices: tuple[Expression, ...]
    is_range: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    cases: int
    seed: int
    fixtures: Fixtures
    generators: tuple[Generator, ...]
    claim: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Module:
    tables: tuple[Table, ...]
    fields: tuple[Field, ...]
    examples: tuple[Example, ...]
    properties: tuple[Property, ...]
    audiences: tuple[str, ...] | None = None  # those it declares
    law: LawBlock | None = None
