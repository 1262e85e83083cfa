import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import types
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.type_text import declared_type, type_from_text
from bpc_worker.core.rules.types import Type, show

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
simple: st.SearchStrategy[Type] = st.sampled_from(
    [
        types.BOOL,
        types.INT,
        types.TEXT,
        types.DATE,
        types.NUM,
        types.JSON,
        types.FACT,
        types.NONE,
        types.EMPTY,
    ]
)
leaves = simple | st.integers(0, 30).map(types.DecType) | st.sampled_from(sorted(UNITS)).map(types.QtyType)
all_types: st.SearchStrategy[Type] = st.recursive(
    leaves,
    lambda inner: (
        inner.map(types.OptType)
        | inner.map(types.ListType)
        | inner.map(types.MapType)
        | st.dictionaries(names, inner, max_size=3).map(types.record)
    ),
    max_leaves=8,
)


@given(all_types)
def test_a_type_is_read_from_its_text(kind: Type) -> None:
    assert type_from_text(show(kind)) == kind


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "Int ", " Int", "int", "Int Int", "Int(", "Dec", "Dec()", "Dec(-1)", "Dec(31)",
        "Dec(01)", "Dec(x)",
        "Dec(1", "Qty(furlong)", "Qty(kg", "Qty", "List(Int", "List(Int))", "List(Int) ", "List()",
        "Map(Int, Int)",
        "Map(Text,Int)", "Map(Text Int)", "Map(Text, Int", "Record(", "Record(a Int)", "Record(a: Int,)",
        "Record(a: Int, a: Int)", "Record(b: Int, a: Int)", "Record((: Int)", "Record(5: Int)",
        "Record(a: Int b: Int)",
        "Opt(Int); drop", "Foo(Int)", "List(" * 70 + "Int" + ")" * 70,
        "Record(" + ", ".join(f"n{number:04}: Int" for number in range(1100)) + ")",
    ],
)  # fmt: skip
def test_no_other_text_is_one(text: str) -> None:
    with pytest.raises(RuleError, match="this is not the text of a type"):
        type_from_text(text)


@pytest.mark.parametrize("text", ["Num", "Json", "Opt(Fact)", "List(Json)", "none", "Record(a: empty)"])
def test_a_field_has_a_type_that_can_be_written(text: str) -> None:
    type_from_text(text)
    with pytest.raises(RuleError, match="this is not the text of a type"):
        declared_type(text)


def test_a_declared_type_is_read() -> None:
    assert declared_type("List(Qty(kWh))") == types.ListType(types.QtyType("kWh"))
