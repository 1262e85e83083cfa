import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import types
from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    EMPTY,
    FACT,
    INT,
    JSON,
    NONE,
    NUM,
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

plain_types = (
    st.sampled_from([BOOL, INT, TEXT, DATE])
    | st.builds(DecType, st.integers(0, 30))
    | st.builds(QtyType, st.sampled_from(sorted(UNITS)))
)
declared_types: st.SearchStrategy[Type] = st.recursive(
    plain_types,
    lambda inner: (
        st.builds(ListType, inner)
        | st.builds(MapType, inner)
        | st.builds(types.optional, inner)
        | st.builds(types.record, st.dictionaries(st.sampled_from(["a", "b", "c"]), inner))
    ),
    max_leaves=6,
)


@given(kind=declared_types)
def test_a_type_is_shown_as_it_is_written(kind: Type) -> None:
    [field] = parse(f"field a: {show(kind)} = 1;").fields

    assert field.type == kind


@pytest.mark.parametrize(
    ("kind", "shown"), [(NUM, "Num"), (JSON, "Json"), (FACT, "Fact"), (NONE, "none"), (EMPTY, "empty")]
)
def test_types_that_nobody_writes_are_shown_too(kind: Type, shown: str) -> None:
    assert show(kind) == shown


@pytest.mark.parametrize(
    ("kind", "expected"), [(INT, OptType(INT)), (OptType(INT), OptType(INT)), (NONE, NONE)]
)
def test_an_opt_is_never_put_into_another(kind: Type, expected: Type) -> None:
    assert types.optional(kind) == expected


def doubled(times: int) -> Type:
    kind: Type = INT
    for _ in range(times):
        kind = RecordType((("a", kind), ("b", kind)))
    return kind


def nested(times: int) -> Type:
    kind: Type = INT
    for _ in range(times):
        kind = ListType(kind)
    return kind


@pytest.mark.parametrize(
    ("kind", "too_large"), [(doubled(8), False), (doubled(60), True), (nested(64), False), (nested(65), True)]
)
def test_large_types_are_found_without_walking_all_of_them(kind: Type, too_large: bool) -> None:  # noqa: FBT001
    assert types.is_too_large(kind, Limits()) is too_large


def test_what_a_type_contains() -> None:
    kind = types.record({"a": OptType(MapType(JSON))})

    assert types.contains(kind, lambda each: each == JSON)
    assert not types.contains(kind, lambda each: each == FACT)
