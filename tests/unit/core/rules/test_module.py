from decimal import Decimal

import pytest

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.values import Num, Quantity
from tests.unit.core.rules.support import error_in, value_of

MODULE = """
table limits: Dec(1) = {"a": 1.25, "b": -1.5};
field z.first: Int = 1;
field b: Int for authorities = field("z.first") + field("c");
field c: Int = if (true) then missing("why") else 1;
example e: {} => expectError("X");
property p: cases(1) seed(1) {} forall x: Int in {1} => true;
"""


def test_a_module_has_its_fields_in_order() -> None:
    module = load('field b: Int = 1; field c: Int = field("b"); field a: Int = field("c"); field d: Int = 1;')

    assert module.order == ("b", "c", "a", "d")
    assert module.fields["a"].uses == ("c",)
    assert not any(field.may_be_empty for field in module.fields.values())


def test_a_reference_to_a_field_that_can_be_empty_is_an_opt() -> None:
    assert error_in(MODULE).message == "'+' does not fit Int and Opt(Int)"


def test_a_module_keeps_tables_tests_and_source() -> None:
    source = MODULE.replace('field("c")', 'unwrapOr(field("c"), 0)')
    module = load(source)

    assert module.source == source
    assert module.fields["c"].may_be_empty
    assert module.fields["b"].audiences == ("authorities",)
    assert [test.name for test in module.tests] == ["e", "p"]
    assert module.warnings == ("line 2, column 7: the table 'limits' is never used",)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ('Int = {"a": 1, "b": -2}', {"a": 1, "b": -2}),
        ("Text = {}", {}),
        ('Opt(Int) = {"a": none, "b": 1}', {"a": None, "b": 1}),
    ],
)
def test_the_rows_of_a_table_are_plain_values(table: str, rows: dict[str, object]) -> None:
    assert load(f"table t: {table};").tables["t"] == rows


def test_decimals_in_a_table_have_the_scale_of_the_table() -> None:
    module = load('table t: Dec(2) = {"a": 1.5, "b": -1.005}; table q: Qty(kg) = {"a": qty(-1.50, kg)};')

    assert {key: str(row.value) for key, row in module.tables["t"].items() if isinstance(row, Num)} == {
        "a": "1.50",
        "b": "-1.00",
    }
    [row] = module.tables["q"].values()
    assert isinstance(row, Quantity)
    assert str(row.value) == "-1.50"


def test_records_can_be_rows_of_a_table() -> None:
    before = 'table t: Record(a: Dec(1), b: Record(c: Int)) = {"x": record(b: record(c: 2), a: 1.25)};'

    assert value_of('recordGet(recordGet(requireSome(lookup(t, "x")), "b"), "c")', "Int", before) == 2
    assert value_of('recordGet(requireSome(lookup(t, "x")), "a")', "Dec(1)", before) == Num(Decimal("1.2"))


def test_a_number_in_a_table_that_outgrows_the_digits_is_an_error_at_its_row() -> None:
    source = 'table t: Dec(30) = {"a": ' + "9" * 999 + ".0};"
    error = error_in(source)

    assert (error.code, error.span.start) == ("RULE_LIMIT_EXCEEDED", source.index("9"))


def test_a_long_cycle_is_shortened() -> None:
    source = 'field f000: Int = field("f099");' + "".join(
        f'field f{number:03}: Int = field("f{number - 1:03}");' for number in range(1, 100)
    )
    error = error_in(source)

    assert error.code == "RULE_CYCLE_DETECTED"
    assert error.message.startswith("fields need each other: f000 -> f099 -> f098 -> ")
    assert error.message.endswith(" -> … -> f000")


@pytest.mark.parametrize(
    "body", ['withheld("r")', 'let x = 1; assert(x == 1, "A", "m"); cite("c"); missing("r")']
)
def test_a_field_may_be_empty_altogether(body: str) -> None:
    assert load(f"field a: Record(b: List(Int)) = {body};").fields["a"].may_be_empty
