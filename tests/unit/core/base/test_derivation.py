import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base import canonical_json, derivation
from bpc_worker.core.base.derivation import ProofBuilder
from tests.support.proofs import WORKED_CHECK, Document, document, expanded, field, nodes

characters = st.characters(exclude_categories=["Cs"], min_codepoint=1, max_codepoint=0xFFFF)
texts = st.text(characters, max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=6,
)


def a_proof() -> ProofBuilder:
    builder = ProofBuilder()
    one = builder.add(derivation.CONST, b'{"value":1}')
    two = builder.add(derivation.OP, b'{"op":"+","result":2}', (one, one))
    add_field(builder, "b", 2, two)
    add_field(builder, "a", 1, one)
    return builder


def add_field(builder: ProofBuilder, path: str, result: int, step: int) -> None:
    data = derivation.data_bytes({"op": "field", "params": {"path": path}, "result": result})
    builder.fields[path] = builder.add(derivation.OP, data, (step,))


@given(data=st.dictionaries(texts, json_values, max_size=4))
def test_the_data_of_a_step_is_canonical_json(data: dict[str, object]) -> None:
    assert derivation.data_bytes(data) == canonical_json.encode(data)


def test_a_hash_covers_type_data_number_and_the_hashes_of_the_children() -> None:
    children = [sha256(b"a").hexdigest(), sha256(b"b").hexdigest()]
    document = {"children_hashes": children, "data": {"x": "ü"}, "id": 7, "type": "OP"}

    found = derivation.node_hash(7, "OP", derivation.data_bytes({"x": "ü"}), children)

    assert found == sha256(canonical_json.encode(document)).hexdigest()


def test_a_proof_is_canonical_and_its_root_has_the_fields_by_path() -> None:
    data, root_hash = a_proof().finish(bytes(16))
    document = json.loads(data)

    assert canonical_json.encode(document) == data
    assert document["proof_version"] == "BPC-PROOF-2"
    assert document["root_hash"] == root_hash == expanded(data)["nodes"][-1]["hash"]
    assert document["field_index"] == {"a": 3, "b": 2}
    assert document["nodes"] == [
        ["CONST", {"value": 1}],
        ["OP", {"op": "+", "result": 2}, [0, 0]],
        ["OP", {"op": "field", "params": {"path": "b"}}, [1]],
        ["OP", {"op": "field", "params": {"path": "a"}}, [0]],
        ["OP", {"op": "passport", "result": 2, "salt": "00" * 16}, [3, 2]],
    ]


def test_every_hash_can_be_made_again_from_the_document() -> None:
    data, root_hash = a_proof().finish(bytes(16))
    document = expanded(data)
    hashes: list[str] = []
    for number, node in enumerate(document["nodes"]):
        below = [hashes[child] for child in node["children"]]
        assert node["id"] == number
        assert all(child < number for child in node["children"])
        hashes.append(derivation.node_hash(number, node["type"], canonical_json.encode(node["data"]), below))
    assert hashes[-1] == root_hash


def test_equal_steps_are_one() -> None:
    builder = a_proof()
    size = builder.size

    again = builder.add(derivation.CONST, b'{"value":1}')

    assert (again, builder.size) == (0, size)


UNUSED = """
field a: Int = let spare = 5 + 6; let used = 1; if (true) then used else spare;
field b: Int = let first = 7 * 7; let second = 8 * 8; field("a");
field c: Int = let shared = 7 * 7; shared;
"""


def test_what_was_computed_and_not_used_is_bound_to_its_field() -> None:
    made = document(UNUSED)

    assert field(made, "a")["children"][1:] == [step(made, 11)]
    assert field(made, "b")["children"][1:] == [step(made, 64)]
    assert field(made, "c")["children"] == [step(made, 49)]


def step(made: Document, result: int) -> int:
    [found] = nodes(made, lambda data: data.get("result") == result and data["op"] in {"+", "*"})
    number = found["id"]
    assert isinstance(number, int)
    return number


@pytest.mark.parametrize("source", [UNUSED, WORKED_CHECK])
def test_every_step_but_the_root_leads_somewhere(source: str) -> None:
    made = document(source)

    leading = {child for node in made["nodes"] for child in node["children"]}
    assert leading == set(range(len(made["nodes"]) - 1))


def test_a_step_after_the_last_field_is_bound_to_none() -> None:
    builder = a_proof()
    plain = json.loads(builder.finish(bytes(16))[0])

    builder.add(derivation.CONST, b'{"value":7}')

    assert json.loads(builder.finish(bytes(16))[0])["nodes"][:-2] == plain["nodes"][:-1]


def test_finishing_twice_gives_the_same_proof() -> None:
    builder = a_proof()

    assert builder.finish(bytes(16)) == builder.finish(bytes(16))


def test_a_proof_of_no_fields_has_a_root() -> None:
    document = json.loads(ProofBuilder().finish(bytes(16))[0])

    assert (len(document["nodes"]), document["field_index"]) == (1, {})


@pytest.mark.parametrize("kind", ["CONST", "FACT_GET", "FIELD_REF", "OP", "ASSERT", "COMPLIANCE_EMIT"])
def test_the_types_of_steps(kind: str) -> None:
    assert kind in derivation.NODE_TYPES
