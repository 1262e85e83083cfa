from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.spec_hash import spec_hash


def test_type_and_payload_are_hashed_together() -> None:
    expected = sha256(encode({"type": "RUN_COMMAND", "payload": {"command": "x"}}))

    assert spec_hash("RUN_COMMAND", {"command": "x"}) == expected


def test_the_order_of_the_payload_does_not_matter() -> None:
    assert spec_hash("T", {"a": 1, "b": 2}) == spec_hash("T", {"b": 2, "a": 1})


def test_another_type_or_payload_has_another_hash() -> None:
    hashes = {spec_hash("T", {"a": 1}), spec_hash("U", {"a": 1}), spec_hash("T", {"a": 2})}

    assert len(hashes) == 3


def test_a_payload_without_canonical_form_has_no_hash() -> None:
    assert spec_hash("T", {"a": 1.5}) is None
