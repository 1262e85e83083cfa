import json
from typing import Any

from bpc_worker.core import canonical_json, proof
from bpc_worker.core.derivation import BoundProof, Prover
from bpc_worker.core.proof import ProofBuilder
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.module import load
from tests.support.generated import LAW_DATE
from tests.support.proofs import FACTS, WORKED_CHECK, field, nodes

UNUSED = """
field a: Int = let spare = 5 + 6; let used = 1; if (true) then used else spare;
field b: Int = let first = 7 * 7; let second = 8 * 8; field("a");
field c: Int = let shared = 7 * 7; shared;
"""


def proofs(source: str) -> tuple[Any, Any]:
    """The proof with everything bound, and the plain one."""
    module = load(source)
    prover, evaluator = (kind(module, FactSet(FACTS), LAW_DATE) for kind in (Prover, Evaluator))
    assert prover.run() == evaluator.run()
    return json.loads(prover.proof.finish()[0]), json.loads(evaluator.proof.finish()[0])


def step(document: Any, result: int) -> int:
    [found] = nodes(document, lambda data: data.get("result") == result and data["op"] in {"+", "*"})
    number = found["id"]
    assert isinstance(number, int)
    return number


def test_what_was_computed_and_not_used_is_bound_to_its_field() -> None:
    bound, _ = proofs(UNUSED)

    assert field(bound, "a")["children"][1:] == [step(bound, 11)]
    assert field(bound, "b")["children"][1:] == [step(bound, 64)]
    assert field(bound, "c")["children"] == [step(bound, 49)]


def test_every_step_but_the_root_leads_somewhere() -> None:
    bound, _ = proofs(UNUSED)

    leading = {child for node in bound["nodes"] for child in node["children"]}
    assert leading == set(range(len(bound["nodes"]) - 1))


def test_numbers_and_data_stay_and_hashes_are_made_good() -> None:
    bound, plain = proofs(UNUSED)
    hashes: list[str] = []
    for node in bound["nodes"]:
        data = canonical_json.encode(node["data"])
        hashes.append(
            proof.node_hash(node["id"], node["type"], data, [hashes[each] for each in node["children"]])
        )

    assert [node["data"] for node in bound["nodes"]] == [node["data"] for node in plain["nodes"]]
    assert [node["hash"] for node in bound["nodes"]] == hashes
    assert bound["field_index"] == plain["field_index"]
    assert bound["root_hash"] == hashes[-1]


def test_where_all_is_used_the_proof_is_the_plain_one() -> None:
    bound, plain = proofs(WORKED_CHECK)

    assert bound == plain


def test_finishing_twice_gives_the_same_proof() -> None:
    prover = Prover(load(UNUSED), FactSet(FACTS), LAW_DATE)
    prover.run()

    assert prover.proof.finish() == prover.proof.finish()


def test_a_proof_of_no_fields_has_a_root() -> None:
    assert BoundProof().finish() == ProofBuilder().finish()
