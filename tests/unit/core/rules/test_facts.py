import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.values import Fact

KEYS = ("a", "a:1", "a:2", "a:ü", "a:\uffff", "a:\U0001f50b", "b")


def facts(kind: str = "T") -> list[Fact]:
    return [make_fact(kind, key, {"key": key}) for key in KEYS]


def nested(levels: int) -> dict[str, object]:
    inner: dict[str, object] = {}
    for _ in range(levels - 1):
        inner = {"a": inner}
    return inner


def test_a_fact_has_the_hash_of_its_canonical_payload() -> None:
    fact = make_fact("T", "k", {"b": 2, "a": 1})

    assert fact.payload_hash == "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"
    assert fact.payload_hash == sha256_hex(canonical_json.encode({"a": 1, "b": 2}))


@pytest.mark.parametrize(
    ("kind", "key", "payload"),
    [
        ("T", "k", {"a": 1.5}),
        ("T", "k", {"a": 2**53}),
        ("T", "\ud800", {}),
        ("\0", "k", {}),
        ("T", "k", nested(102)),
        ("T", "k", {"a": ([[nested(99)]],)}),
    ],
)
def test_what_canonical_json_cannot_hold_or_a_proof_not_bear(
    kind: str, key: str, payload: dict[str, object]
) -> None:
    with pytest.raises(CanonicalJsonError):
        make_fact(kind, key, payload)


def test_a_deep_fact_is_fine() -> None:
    assert make_fact("T", "k", nested(100)).payload


def test_facts_are_found_by_type_and_key() -> None:
    found = FactSet([*facts("T"), *facts("U")])

    assert found.get("T", "a:1") == make_fact("T", "a:1", {"key": "a:1"})
    assert found.get("T", "c") is None
    assert found.get("V", "a") is None


@pytest.mark.parametrize(
    ("prefix", "keys"),
    [
        ("a:", KEYS[1:6]),
        ("a", KEYS[:6]),
        ("", KEYS),
        ("b", ("b",)),
        ("c", ()),
        ("a:\U0001f50b", ("a:\U0001f50b",)),
    ],
)
def test_facts_by_prefix_are_in_the_order_of_the_keys_bytes(prefix: str, keys: tuple[str, ...]) -> None:
    found = FactSet([*reversed(facts("T")), *facts("U")]).by_prefix("T", prefix)

    assert tuple(fact.fact_key for fact in found) == keys
    assert [key.encode() for key in keys] == sorted(key.encode() for key in keys)


def test_of_an_unknown_type_there_are_none() -> None:
    assert FactSet(facts()).by_prefix("V", "") == ()


@given(order=st.permutations(facts()), prefix=st.sampled_from(["", "a", "a:", "a:\uffff"]))
def test_the_order_in_which_facts_come_does_not_matter(order: list[Fact], prefix: str) -> None:
    assert FactSet(order).by_prefix("T", prefix) == FactSet(facts()).by_prefix("T", prefix)


def test_the_same_fact_twice_is_one_and_two_different_ones_are_an_error() -> None:
    assert len(FactSet([*facts(), *facts()]).by_prefix("T", "")) == len(KEYS)
    with pytest.raises(ValueError, match="two different facts T a"):
        FactSet([*facts(), make_fact("T", "a", {})])
