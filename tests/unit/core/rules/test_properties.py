"""Whatever an author writes: what is checked runs, and what it gives is what arithmetic gives."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpc_worker.core.base import canonical_json, numbers
from bpc_worker.core.proof.verify import verify_proof
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    INT,
    TEXT,
    DecType,
    ListType,
    MapType,
    OptType,
    QtyType,
    RecordType,
    Type,
    show,
)
from bpc_worker.core.rules.values import Num, Quantity, Value
from tests.unit.core.rules.support import FACTS, LAW_DATE, STAGES, raised

KG, SHARE = QtyType("kg"), QtyType("pct")
MAYBE, KILOS = OptType(INT), ListType(KG)
PAIR = RecordType((("a", INT), ("b", DecType(1))))
KINDS: tuple[Type, ...] = (BOOL, INT, TEXT, DATE, DecType(1), DecType(2), KG, SHARE, MAYBE, KILOS, PAIR)

# What may still happen when a text that was checked is run.
EXPECTED = {"DIVISION_BY_ZERO", "RULE_LIMIT_EXCEEDED", "NOT_FOUND", "RULE_ASSERTION_FAILED"}

TABLE = 'table rows: Int = {"a": 1, "b": -2};'

Draw = Callable[[st.SearchStrategy[str]], str]


def leaves(kind: Type) -> st.SearchStrategy[str]:
    whole = st.integers(0, 99)
    match kind:
        case DecType(scale):
            return st.builds(lambda a, b: f"{a}.{b:0{scale}}", whole, st.integers(0, 10**scale - 1))
        case QtyType(unit):
            return whole.map(lambda number: f"qty({number}.5, {unit})")
        case OptType():
            return st.sampled_from(
                ["none", 'lookup(rows, "a")', 'lookup(rows, "z")', "(if (true) then 1 else none)"]
            )
        case ListType():
            return st.just('map(stages, s => toQty(kg, requireSome(recordGet(s, "kg"))))')
        case RecordType():
            return whole.map(lambda number: f"record(b: {number}.5, a: {number})")
        case _:
            simple: dict[Type, st.SearchStrategy[str]] = {
                BOOL: st.sampled_from(["true", "false"]),
                INT: whole.map(str),
                TEXT: st.sampled_from(['"a"', '"b"', '"ü"']),
                DATE: st.sampled_from(["lawDate()", 'date("2026-01-01")']),
            }
            return simple[kind]


def branches(kind: Type, inner: Callable[[Type], st.SearchStrategy[str]]) -> list[st.SearchStrategy[str]]:
    """Ways to make a value of this type from values of others."""
    same = inner(kind)
    every = [
        st.builds(lambda c, a, b: f"(if ({c}) then {a} else {b})", inner(BOOL), same, same),
        st.builds(lambda a, b: f"(let x = {a}; let x = {b}; x)", inner(INT), same),
        st.builds(lambda c, a: f'(assert({c}, "A", "m"); {a})', inner(BOOL), same),
    ]
    if kind in {INT, DecType(1), DecType(2), KG, SHARE}:
        every += [st.builds(lambda a, b, o=o: f"({a} {o} {b})", same, same) for o in "+-"]
        every += [st.builds(lambda a: f"(-{a})", same), st.builds(lambda a, b: f"max({a}, {b})", same, same)]
    return every + particular(kind, inner)


def particular(kind: Type, inner: Callable[[Type], st.SearchStrategy[str]]) -> list[st.SearchStrategy[str]]:
    match kind:
        case DecType(scale):
            return [
                st.builds(lambda a, b: f"round(half_up, {scale}, {a} / {b})", inner(KG), inner(KG)),
                st.builds(lambda a: f"toDec({scale}, {a})", inner(INT)),
                st.builds(lambda a, b: f"({a} * {b})", inner(INT), inner(kind)),
            ]
        case QtyType("kg"):
            return [
                st.builds(lambda a, b: f"({a} * {b})", inner(KG), inner(DecType(1))),
                st.builds(lambda a, b: f"({a} / {b})", inner(KG), inner(INT)),
                st.builds(lambda a: f"convert(kg, convert(mg, {a}))", inner(KG)),
                inner(KILOS).map(lambda a: f"sumQty({a})"),
            ]
        case QtyType():
            return [st.builds(lambda a, b: f"percent({a}, {b})", inner(KG), inner(KG))]
        case OptType():
            return [inner(INT), inner(TEXT).map(lambda key: f"lookup(rows, {key})")]
        case ListType():
            return [
                st.builds(lambda a, b: f"map({a}, y => y + {b})", inner(KILOS), inner(KG)),
                st.builds(lambda a, b: f"filter({a}, y => y > {b})", inner(KILOS), inner(KG)),
            ]
        case RecordType():
            return [st.builds(lambda a, b: f"record(a: {a}, b: {b})", inner(INT), inner(DecType(1)))]
        case _:
            return plain(kind, inner)


def plain(kind: Type, inner: Callable[[Type], st.SearchStrategy[str]]) -> list[st.SearchStrategy[str]]:
    if kind == BOOL:
        comparisons = [
            st.builds(lambda a, b, o=o: f"({a} {o} {b})", inner(each), inner(each))
            for o, each in (("==", MAYBE), ("<", KG), (">=", DATE), ("!=", TEXT), ("<=", DecType(2)))
        ]
        logic = [
            st.builds(lambda a, b, o=o: f"({a} {o} {b})", inner(BOOL), inner(BOOL)) for o in ("&&", "||")
        ]
        return [
            *comparisons,
            *logic,
            inner(MAYBE).map(lambda a: f'isSome(if (true) then {a} else lookup(rows, "a"))'),
        ]
    if kind == INT:
        return [
            st.builds(
                lambda a, b: f'unwrapOr(if (true) then {a} else lookup(rows, "a"), {b})',
                inner(MAYBE),
                inner(INT),
            ),
            st.builds(lambda a, b: f"({a} * {b})", inner(INT), inner(INT)),
            inner(KILOS).map(lambda a: f"count({a})"),
            st.builds(lambda a, b: f"fold({a}, {b}, (acc, _y) => acc + 1)", inner(KILOS), inner(INT)),
            inner(PAIR).map(lambda a: f'recordGet({a}, "a")'),
        ]
    return [inner(INT).map(lambda a: f"(if ({a} == 1) then {LITERALS[kind]} else {LITERALS[kind]})")]


LITERALS: dict[Type, str] = {TEXT: '"x"', DATE: 'date("2027-01-01")'}


@st.composite
def expressions(draw: Callable[[st.SearchStrategy[str]], str], kind: Type, depth: int) -> str:
    def inner(other: Type) -> st.SearchStrategy[str]:
        return expressions(other, depth - 1)

    options = [leaves(kind)] if depth == 0 else [leaves(kind), *branches(kind, inner)]
    return draw(st.one_of(options))


modules = st.sampled_from(KINDS).flatmap(
    lambda kind: expressions(kind, 3).map(
        lambda body: (kind, f"{TABLE} field a: {show(kind)} = let stages = {STAGES}; {body};")
    )
)


CLASSES: dict[Type, type] = {BOOL: bool, INT: int, TEXT: str, DATE: date}


def is_of(value: Value, kind: Type) -> bool:
    match kind:
        case DecType(scale):
            return isinstance(value, Num) and numbers.scale_of(value.value) == scale
        case QtyType(unit):
            return isinstance(value, Quantity) and value.unit == unit
        case OptType(of):
            return value is None or is_of(value, of)
        case ListType(of):
            return isinstance(value, tuple) and all(is_of(each, of) for each in value)
        case RecordType(members):
            return isinstance(value, dict) and all(is_of(value[name], each) for name, each in members)
        case MapType():
            return isinstance(value, dict)
        case _:
            return type(value) is CLASSES[kind]


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(module=modules)
def test_what_was_checked_gives_a_value_of_its_type_and_a_proof_that_verifies(
    module: tuple[Type, str],
) -> None:
    kind, source = module
    evaluator = Evaluator(load(source), FactSet(FACTS), LAW_DATE)
    error = raised(evaluator.run)
    if error is not None:
        assert error.code in EXPECTED, source
        return
    assert is_of(evaluator.result.fields["a"], kind), source

    proof, root = evaluator.proof.finish(bytes(16))
    assert canonical_json.encode(canonical_json.decode(proof)) == proof
    for facts in (None, FactSet(FACTS)):
        assert verify_proof(proof, law_date=LAW_DATE, facts=facts).root_hash == root


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(module=modules)
def test_with_and_without_a_proof_a_text_gives_the_same(module: tuple[Type, str]) -> None:
    _, source = module
    loaded = load(source)
    ends = []
    for prove in (True, False):
        evaluator = Evaluator(loaded, FactSet(FACTS), LAW_DATE, prove=prove)
        try:
            ends.append(repr(evaluator.run()))
        except RuleError as error:
            ends.append(f"{error.code} {error.message} {error.span}")

    assert ends[0] == ends[1]


sums: st.SearchStrategy[tuple[str, Fraction]] = st.recursive(
    st.decimals(-1000, 1000, places=2).map(lambda each: (f"({each})", Fraction(each))),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda each: (f"({each[0][0]} + {each[1][0]})", each[0][1] + each[1][1])),
        st.tuples(inner, inner).map(lambda each: (f"({each[0][0]} - {each[1][0]})", each[0][1] - each[1][1])),
        st.tuples(inner, st.integers(0, 50)).map(
            lambda each: (f"({each[0][0]} * {each[1]})", each[0][1] * each[1])
        ),
        inner.map(lambda each: (f"(-{each[0]})", -each[1])),
    ),
    max_leaves=12,
)


@given(term=sums)
def test_arithmetic_is_that_of_fractions(term: tuple[str, Fraction]) -> None:
    expression, expected = term
    evaluator = Evaluator(load(f"field a: Dec(2) = {expression};"), FactSet([]), None, Limits())
    found = evaluator.run().fields["a"]

    assert isinstance(found, Num)
    assert Fraction(found.value) == expected
    assert numbers.scale_of(found.value) == 2
    assert found.value == Decimal(numbers.text(found.value))
