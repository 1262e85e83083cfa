import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base import canonical_json
from bpc_worker.core.proof.verify import verify_proof
from bpc_worker.core.rules.evaluate import (
    NO_NODE,
    Call,
    Evaluator,
    Ref,
    Statement,
    capture_name,
    facts_hash,
    lambda_params,
)
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import NOWHERE, Limits, RuleError
from bpc_worker.core.rules.typed import Aggregate, BlockNode, Const, Var
from bpc_worker.core.rules.types import INT, TEXT
from bpc_worker.core.rules.values import Empty, Fact, Num, Quantity, encoded, published
from tests.support.proofs import expanded
from tests.unit.core.rules.support import (
    FACTS,
    LAW_DATE,
    STAGES,
    error_of,
    from_battery,
    proof_of,
    ran,
    value_of,
)

THIRD, WILD = from_battery("third"), from_battery("wild")
EVERYTHING = Path(__file__).with_name("everything.rules").read_text()


def nodes_of(proof: bytes) -> list[Mapping[str, Any]]:
    return list(expanded(proof)["nodes"])


def test_one_of_everything() -> None:
    found = ran(EVERYTHING).result

    assert {path: encoded(value) for path, value in found.fields.items() if not isinstance(value, tuple)} == {
        "absent": False,
        "battery.age": None,
        "battery.class": "M1",
        "battery.made": {"date": "2026-11-30"},
        "battery.new": True,
        "carbon.late": 3,
        "carbon.max": {"dec": "2.25"},
        "carbon.per_kwh": {"qty": "0.0044", "unit": "kgCO2e_per_kWh"},
        "carbon.share": {"qty": "16", "unit": "pct"},
        "carbon.sum": {"dec": "4.00"},
        "carbon.total": {"qty": "160.00", "unit": "kgCO2e"},
        "cycles.all": {"map": {"L": 20, "M1": 60}},
        "energy.total": {"qty": "36000.0", "unit": "kWh"},
        "found": 3,
        "g": {"qty": "1499", "unit": "g"},
        "hidden": {"empty": "withheld", "reason": "not yet"},
        "limit": {"dec": "16.0"},
        "named": True,
        "ok": True,
        "one": 1,
        "price": {"map": {"a": {"dec": "0.3"}, "b": None}},
        "seen": False,
    }
    assert found.fields["battery.cells"] == (3, 1, 2)
    assert found.fields["carbon.each"] == tuple(Num(Decimal(each)) for each in ("1.5", "2.2", "0.2"))
    assert found.statements == [Statement("A", True, "one is one"), Statement("B", False, "no")]


def test_the_proof_of_everything_is_canonical_and_verifies_with_and_without_the_facts() -> None:
    evaluator = ran(EVERYTHING)
    result = evaluator.result
    proof, _ = evaluator.proof.finish(bytes(16))

    assert canonical_json.encode(json.loads(proof)) == proof
    for facts in (None, FactSet(FACTS)):
        verified = verify_proof(proof, law_date=LAW_DATE, facts=facts)
        assert verified.fields.keys() == result.fields.keys()
        assert list(verified.statements) == result.statements


def test_a_field_binds_its_path_type_audiences_and_citations() -> None:
    document = expanded(proof_of(EVERYTHING))
    node = document["nodes"][document["field_index"]["energy.total"]]

    assert node["data"] == {
        "op": "field",
        "params": {
            "audiences": ["authorities", "commission"],
            "cites": ["Annex II", "Art. 7"],
            "path": "energy.total",
            "type": "Qty(kWh)",
        },
        "result": {"qty": "36000.0", "unit": "kWh"},
    }
    kinds = [document["nodes"][child]["type"] for child in node["children"]]
    assert kinds == ["OP", "ASSERT"]
    other = document["nodes"][document["field_index"]["one"]]
    assert other["data"]["params"] == {"path": "one", "type": "Int"}


@given(order=st.permutations(FACTS))
def test_the_order_in_which_facts_come_changes_no_byte(order: list[Fact]) -> None:
    assert proof_of(EVERYTHING, order) == proof_of(EVERYTHING)


PRINT_PROOF = """
import sys
from tests.unit.core.rules.test_evaluate import EVERYTHING, proof_of
sys.stdout.buffer.write(proof_of(EVERYTHING))
"""


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_seed_of_hashes_changes_no_byte(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINT_PROOF],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
    )

    assert done.stdout == proof_of(EVERYTHING)


def test_equal_subexpressions_are_one_step() -> None:
    once = nodes_of(proof_of("field a: Int = 1 + 2;"))
    often = nodes_of(proof_of("field a: Int = let x = 1 + 2; let y = 1 + 2; if (x == y) then x else y;"))

    assert len([node for node in often if node["data"].get("op") == "+"]) == 1
    assert len(once) == 5
    assert [node["data"].get("op") for node in often] == [None, None, "+", "==", "if", "field", "passport"]


@pytest.mark.parametrize("count", [0, 1, 50])
def test_a_lambda_is_one_step_however_long_the_list(count: int) -> None:
    facts = [make_fact("Stage", f"stage:{number}", {"kg": "1"}) for number in range(count)]
    source = f'field a: Qty(kg) = sumQty(map({STAGES}, s => toQty(kg, requireSome(recordGet(s, "kg")))));'

    nodes = nodes_of(proof_of(source, facts))

    assert [(node["type"], node["data"].get("op")) for node in nodes] == [
        ("FACT_GET", None),
        ("OP", "map"),
        ("OP", "sumQty"),
        ("OP", "field"),
        ("OP", "passport"),
    ]
    assert nodes[0]["data"] == {
        "count": count,
        "fact_type": "Stage",
        "list": facts_hash(FactSet(facts).by_prefix("Stage", "stage:")),
        "prefix": "stage:",
    }
    assert nodes[1]["data"]["params"] == {
        "lambda": 's => toQty(kg, requireSome(recordGet(s, "kg")))',
        "takes": [["s", "Fact"]],
        "uses": [],
    }


def test_a_lambda_names_what_it_takes_from_outside_in_order_of_first_use() -> None:
    source = f"""
    table t: Int = {{"a": 1}};
    field f: Int = 1;
    field a: Int = let x = 1; let y = 2; count(map({STAGES}, s => let x2 = 3;
      y + x + x2 + requireSome(lookup(t, "a")) + field("f") + (if (lawDate() == lawDate()) then y else
      count(toList(requireSome(recordGet(s, "l")))))));
    """
    nodes = nodes_of(proof_of(source))
    [step] = [node for node in nodes if node["data"].get("op") == "map"]

    assert step["data"]["params"]["uses"] == [
        ["y", "Int"],
        ["x", "Int"],
        ["table t", "Map(Text, Int)"],
        ["field f", "Int"],
        ["lawDate", "Date"],
    ]
    kinds = [nodes[child]["type"] for child in step["children"]]
    assert kinds == ["FACT_GET", "CONST", "CONST", "CONST", "FIELD_REF", "CONST"]


def test_only_the_chosen_branch_is_evaluated() -> None:
    assert value_of("if (true) then 1 else requireSome(if (false) then 1 else none)", "Int") == 1
    assert value_of("if (1 == 2) then 1/0 else 2.0", "Dec(1)") == Num(Decimal("2.0"))
    nodes = nodes_of(proof_of('field a: Int = if (true) then 1 else (cite("never"); 2);'))
    assert [node["data"].get("params") for node in nodes if node["data"].get("op") in {"if", "field"}] == [
        {"branch": "then"},
        {"path": "a", "type": "Int"},
    ]


@pytest.mark.parametrize(
    ("expression", "value", "operands"),
    [
        ("true || 1/0 == 1.0", True, 1),
        ("false && 1/0 == 1.0", False, 1),
        ("true && false && 1/0 == 1.0", False, 2),
        ("false || false || true || 1/0 == 1.0", True, 3),
        ("false || false", False, 2),
        ("true && true", True, 2),
    ],
)
def test_what_decides_ends_the_evaluation(expression: str, value: bool, operands: int) -> None:  # noqa: FBT001
    nodes = nodes_of(proof_of(f"field a: Bool = {expression};"))
    [step] = [node for node in nodes if node["data"].get("op") in {"&&", "||"}]

    assert value_of(expression, "Bool") is value
    assert len(step["children"]) == operands


@pytest.mark.parametrize(
    ("expression", "kind", "code", "place"),
    [
        ("1.0 + 1 / 0", "Dec(1)", "DIVISION_BY_ZERO", "/"),
        ('assert(1 > 2, "CODE", "why"); 1', "Int", "RULE_ASSERTION_FAILED", 'assert(1 > 2, "CODE", "why")'),
        ("let x = 1; requireSome(if (x == 2) then 1 else none)", "Int", "NOT_FOUND",
         "requireSome(if (x == 2) then 1 else none)"),
        ("if (lawDate() > lawDate()) then 1 else 2", "Int", "CONFIG_MISSING", "lawDate()"),
        (f"toDec(2, {THIRD})", "Dec(2)", "VALIDATION_ERROR", f"toDec(2, {THIRD})"),
        (f"toQty(kg, {WILD})", "Qty(kg)", "VALIDATION_ERROR", f"toQty(kg, {WILD})"),
        (f'count(map({STAGES}, s => 1 / count(toList(requireSome(recordGet(s, "kg"))))))', "Int",
         "VALIDATION_ERROR", 'toList(requireSome(recordGet(s, "kg")))'),
        (f"sumQty(map({STAGES}, _s => qty({'9' * 999}, kg) * 9))", "Qty(kg)", "RULE_LIMIT_EXCEEDED",
         f"sumQty(map({STAGES}, _s => qty({'9' * 999}, kg) * 9))"),
        ('addMonths(date("2027-02-18"), 96000)', "Date", "VALIDATION_ERROR",
         'addMonths(date("2027-02-18"), 96000)'),
    ],
)  # fmt: skip
def test_what_goes_wrong_while_it_runs_has_its_place(
    expression: str, kind: str, code: str, place: str
) -> None:
    error = error_of(expression, kind)
    source = f"field a: {kind} = {expression};"

    assert error.code == code
    assert source[error.span.start : error.span.end] == place


def test_an_assertion_says_its_code_and_message() -> None:
    assert error_of('assert(false, "CODE", "why"); 1', "Int").message == "CODE: why"


def test_a_missing_value_says_what_the_author_wants_it_to_say() -> None:
    error = error_of('requireSome(if (false) then 1 else none, "give x")', "Int")

    assert (error.code, error.message) == ("NOT_FOUND", "give x")


def test_an_assertion_inside_a_lambda_is_checked_for_every_element_and_leaves_no_step() -> None:
    kept = f'count(map({STAGES}, s => assert(isSome(recordGet(s, "kg")), "KG", "a mass"); 1))'
    assert value_of(kept, "Int") == 3
    assert not [node for node in nodes_of(proof_of(f"field a: Int = {kept};")) if node["type"] == "ASSERT"]
    broken = kept.replace(
        'isSome(recordGet(s, "kg"))', 'toText(requireSome(recordGet(s, "name"))) != "making"'
    )
    assert error_of(broken, "Int").code == "RULE_ASSERTION_FAILED"


def test_a_dec_has_exactly_its_scale_and_a_qty_the_scale_it_got() -> None:
    assert str(value_of("1.5 * 2", "Dec(3)")) == str(Num(Decimal("3.000")))
    assert str(value_of("qty(1.50, kg) * 2", "Qty(kg)")) == str(Quantity(Decimal("3.00"), "kg"))
    assert str(value_of("qty(1.50, kg) / 2", "Qty(kg)")) == str(Quantity(Decimal("0.75"), "kg"))
    assert str(value_of("round(half_even, 3, qty(1.5, kg))", "Qty(kg)")) == str(
        Quantity(Decimal("1.500"), "kg")
    )


def test_negative_literals_are_constants() -> None:
    nodes = nodes_of(proof_of("field a: Int = -1; field b: Qty(kg) = qty(-1.0, kg); field c: Dec(1) = -0.0;"))

    assert [node["data"]["value"] for node in nodes if node["type"] == "CONST"] == [
        -1,
        {"qty": "-1.0", "unit": "kg"},
        {"dec": "0.0"},
    ]
    assert not [node for node in nodes if node["data"].get("op") == "negate"]


def test_an_empty_field_is_read_as_none() -> None:
    source = 'field a: Int = missing("why"); field b: Int = unwrapOr(field("a"), 7);'
    evaluator = ran(source)
    proof, _ = evaluator.proof.finish(bytes(16))
    [reference] = [node for node in nodes_of(proof) if node["type"] == "FIELD_REF"]

    assert evaluator.result.fields == {"a": Empty("missing", "why"), "b": 7}
    assert reference["data"] == {"path": "a", "result": None}


def test_a_detail_may_be_computed_and_is_never_published() -> None:
    found = value_of('if (true) then withheld("so", if (1 == 1) then "why" else "x") else 1', "Int")

    assert found == Empty("withheld", "so", "why")
    assert published(found) == {"empty": "withheld", "reason": "so"}


def test_constant_names_of_facts_are_no_steps_but_computed_ones_are() -> None:
    constant = nodes_of(proof_of('field a: Bool = isSome(getFact("Battery", "battery:X"));'))
    computed = nodes_of(proof_of('field a: Bool = let k = "battery:X"; isSome(getFact("Battery", k));'))

    assert [node["type"] for node in constant] == ["FACT_GET", "OP", "OP", "OP"]
    assert [node["type"] for node in computed] == ["CONST", "CONST", "FACT_GET", "OP", "OP", "OP"]
    assert constant[0]["data"] == computed[2]["data"]


def test_a_table_and_a_field_are_read_once() -> None:
    rows = ", ".join(f'"k{number}": {number}' for number in range(300))
    source = f"table t: Int = {{{rows}}}; field f: Map(Text, Int) = t;" + "".join(
        f'field a{number}: Opt(Int) = lookup(if ({number} > 5) then t else field("f"), "k1");'
        for number in range(9)
    )
    nodes = nodes_of(proof_of(source))

    assert len([node for node in nodes if "table" in node["data"]]) == 1
    assert len([node for node in nodes if node["type"] == "FIELD_REF"]) == 1


def test_without_a_proof_the_values_are_the_same() -> None:
    module = load(EVERYTHING)
    silent = Evaluator(module, FactSet(FACTS), LAW_DATE, prove=False)

    assert silent.run() == ran(module).result
    assert silent.proof.size == 0


def test_a_lambda_can_be_run_without_its_module() -> None:
    module = load("field f: Int = 1;")
    evaluator = Evaluator(module, FactSet([]), None, prove=False)
    evaluator.provide("f", 41)
    source = (
        load(f'field f: Int = 1; field a: Int = count(map({STAGES}, s => field("f") + 1));').fields["a"].body
    )
    assert isinstance(source, Aggregate)
    assert isinstance(source.items, Aggregate)

    call = Call(evaluator.value, source.items.function, {}, NOWHERE)

    assert call("anything") == 42


@pytest.mark.parametrize("before", [{}, {"s": Ref(1, NO_NODE)}])
@pytest.mark.parametrize("divisor", [1, 0])
def test_the_parameters_of_a_lambda_are_gone_after_the_last_call(
    before: dict[str, Ref], divisor: int
) -> None:
    module = load(f"field a: Int = count(map({STAGES}, s => 1 / {divisor}));")
    scope = dict(before)

    with suppress(RuleError):
        Evaluator(module, FactSet(FACTS), None).evaluate(module.fields["a"].body, scope)

    assert scope == before


def test_a_call_without_a_lambda_is_an_error() -> None:
    evaluator = Evaluator(load(""), FactSet([]), None)

    with pytest.raises(RuleError, match="needs a lambda"):
        Call(evaluator.value, None, {}, NOWHERE)(1)


def test_the_variables_of_a_caller_are_as_they_were_even_after_an_error() -> None:
    module = load('field a: Int = let x = 2; let y = 3; assert(x == y, "A", "m"); x;')
    scope = {"x": Ref(1, NO_NODE)}

    with pytest.raises(RuleError, match="RULE_ASSERTION_FAILED"):
        Evaluator(module, FactSet([]), None).evaluate(module.fields["a"].body, scope)

    assert scope == {"x": Ref(1, NO_NODE)}


def test_an_expression_is_evaluated_over_variables() -> None:
    evaluator = Evaluator(load(""), FactSet([]), None, prove=False)

    assert evaluator.evaluate(Var("x", INT, NOWHERE), {"x": Ref(5, NO_NODE)}).value == 5
    assert evaluator.evaluate(Const("t", TEXT, NOWHERE), {}).value == "t"


def test_the_hash_of_facts_is_that_of_any_list() -> None:
    stages = FactSet(FACTS).by_prefix("Stage", "")

    assert encoded(stages) == {"count": 3, "list": facts_hash(stages)}


def test_names_of_what_a_lambda_takes() -> None:
    module = load(f"field a: Int = let y = 1; fold({STAGES}, 0, (acc, _x) => acc + y);")
    body = module.fields["a"].body
    assert isinstance(body, BlockNode)
    assert isinstance(body.result, Aggregate)
    function = body.result.function
    assert function is not None

    assert [capture_name(capture) for capture in function.captures] == ["y"]
    assert lambda_params(function) == {
        "lambda": "(acc, _x) => acc + y",
        "takes": [["acc", "Int"], ["_x", "Fact"]],
        "uses": [["y", "Int"]],
    }


@pytest.mark.parametrize(
    ("expression", "kind", "limits", "message"),
    [
        ("1 + 1", "Int", Limits(steps=2), "the evaluation takes too many steps (the limit is 2)"),
        ("1 + 1", "Int", Limits(nodes=2), "the proof has too many steps (the limit is 2)"),
        ("99 * 99", "Int", Limits(digits=3), "a number has too many digits (the limit is 3)"),
        ("qty(99, kg) * 99", "Qty(kg)", Limits(digits=3), "a number has too many digits (the limit is 3)"),
        (f"sumDec(map({STAGES}, _s => 9.9))", "Dec(1)", Limits(digits=2),
         "a number has too many digits (the limit is 2)"),
        (f"count({STAGES})", "Int", Limits(steps=3), "the evaluation takes too many steps (the limit is 3)"),
        (f"count(toList({from_battery('cells')}))", "Int", Limits(steps=30),
         "the evaluation takes too many steps (the limit is 30)"),
    ],
)  # fmt: skip
def test_limits_of_the_evaluation_can_be_set(
    expression: str, kind: str, limits: Limits, message: str
) -> None:
    error = error_of(expression, kind, limits)

    assert (error.code, error.message) == ("RULE_LIMIT_EXCEEDED", message)
    assert error.span.end > 0


def test_fewer_digits_than_the_format_allows_do_no_harm() -> None:
    source = (
        'field a: Int = 9 * 9; field b: Text = if (1 < 2) then "x" else "y"; field c: Dec(1) = 9.9 + 9.9;'
    )

    assert ran(source, limits=Limits(digits=3)).result.fields["a"] == 81


def test_a_law_date_is_a_constant_of_the_proof() -> None:
    nodes = nodes_of(proof_of("field a: Date = lawDate();"))

    assert nodes[0]["data"] == {"law_date": True, "value": {"date": "2027-02-18"}}
    assert ran("field a: Date = lawDate();", law_date=date(2030, 1, 1)).result.fields["a"] == date(2030, 1, 1)
