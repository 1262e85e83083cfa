"""A proof as archives hold it, and back: nothing is lost, and no number or hash in it can be another."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.forms import FormError
from bpc_worker.core.proof.whole import shortened, written_out
from tests.support import proofs
from tests.support.generated import inputs

PROOF = inputs(proofs.EVERYTHING, proofs.FACTS).compiled().proof
WHOLE = json.loads(written_out(PROOF))


def test_every_step_has_its_number_hash_data_and_children() -> None:
    nodes = WHOLE["nodes"]
    assert [each["id"] for each in nodes] == [*range(len(nodes))]
    assert {tuple(each) for each in nodes} == {("children", "data", "hash", "id", "type")}
    assert nodes[-1]["hash"] == WHOLE["root_hash"]
    assert all("result" in each["data"] for each in nodes if each["data"].get("op") == "field")


def test_nothing_is_lost_on_the_way_and_back() -> None:
    assert shortened(written_out(PROOF)) == PROOF


def changed(change: Callable[[Any], object]) -> bytes:
    document = json.loads(json.dumps(WHOLE))
    change(document["nodes"])
    return canonical_json.encode(document)


@pytest.mark.parametrize(
    ("proof", "place", "message"),
    [
        (b"[]", "", "a proof is an object"),
        (b"{}", "/nodes", "has a list of steps"),
        (changed(lambda nodes: nodes.append([])), f"/nodes/{len(WHOLE['nodes'])}", "an object"),
        (changed(lambda nodes: nodes[1].pop("id")), "/nodes/1", "missing: id"),
        (changed(lambda nodes: nodes[1].update(id=2)), "/nodes/1/id", "the number of this step is 1"),
        (changed(lambda nodes: nodes[1].update(id=True)), "/nodes/1/id", "the number of this step is 1"),
        (changed(lambda nodes: nodes[2].update(hash="00")), "/nodes/2/hash", "the hash of this step is"),
        (changed(lambda nodes: nodes[2]["data"].update(more=1)), "/nodes/2/hash", "the hash of this step is"),
        (changed(lambda nodes: nodes[0].update(children=[5])), "/nodes/0", "children come before"),
        (changed(lambda nodes: nodes[0].update(data=1)), "/nodes/0", "data is no object"),
    ],
)
def test_what_is_no_proof_is_refused_with_its_place(proof: bytes, place: str, message: str) -> None:
    with pytest.raises(FormError, match=message) as caught:
        shortened(proof)
    assert caught.value.path == place
