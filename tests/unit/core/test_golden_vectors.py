"""The golden proofs and payloads were made by hand in tests/vectors/proof_vectors.py, not by this code."""

import json
from dataclasses import replace
from datetime import date
from typing import Any
from uuid import UUID

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.passport.compile import Evaluated, evaluate_passport
from bpc_worker.core.passport.qr_text import parse, qr_text
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.proof.verify import verify_proof
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.values import Fact
from tests.support.generated import inputs
from tests.vectors import load

NAMES = ["product", "sum_of_facts", "withheld", "values"]


def given(name: str) -> tuple[dict[str, Any], list[Fact]]:
    found = load(f"proof/{name}")["input"]
    return found, [make_fact(each["fact_type"], each["fact_key"], each["payload"]) for each in found["facts"]]


def compiled(name: str) -> Evaluated:
    found, facts = given(name)
    made = inputs(found["rules"], facts)
    identity = replace(
        made.identity,
        passport_id=UUID(found["passport_id"]),
        battery_product_id=UUID(found["battery_product_id"]),
        law_date=date.fromisoformat(found["law_date"]),
    )
    salts = Salts(bytes.fromhex(found["seed"]))
    return evaluate_passport(made.snapshot, facts, made.rules, identity, salts=salts)


@pytest.mark.parametrize("name", NAMES)
def test_golden_rules_compile_to_the_proof_that_was_written_by_hand(name: str) -> None:
    expected = load(f"proof/{name}")["expected"]

    made = compiled(name)

    assert made.proof.decode() == expected["proof"]
    assert made.proof_root.hex() == expected["root_hash"]


@pytest.mark.parametrize("name", NAMES)
def test_golden_rules_compile_to_the_golden_payload(name: str) -> None:
    expected = load(f"proof/{name}")["expected"]

    made = compiled(name)

    assert made.payload.decode() == expected["payload"]
    assert sha256_hex(made.payload) == expected["payload_sha256"]


@pytest.mark.parametrize("with_facts", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_golden_proofs_verify(name: str, *, with_facts: bool) -> None:
    found, facts = given(name)
    expected = load(f"proof/{name}")["expected"]

    proved = verify_proof(
        expected["proof"].encode(),
        law_date=date.fromisoformat(found["law_date"]),
        facts=FactSet(facts) if with_facts else None,
    )

    assert proved.root_hash == expected["root_hash"]


@pytest.mark.parametrize("case", load("cjson/values")["cases"], ids=lambda case: case["name"])
def test_golden_values_have_their_canonical_bytes(case: dict[str, Any]) -> None:
    data = canonical_json.encode(case["input"])

    assert data.decode() == case["expected"]["canonical"]
    assert sha256_hex(data) == case["expected"]["sha256"]
    assert canonical_json.decode(data) == case["input"]


@pytest.mark.parametrize("case", load("cjson/refused")["cases"], ids=lambda case: case["name"])
def test_golden_texts_that_are_not_canonical_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(canonical_json.CanonicalJsonError):
        canonical_json.decode(case["text"].encode())


def test_the_golden_code_holds_the_golden_receipt() -> None:
    vector = load("qr/example")
    given_, text = vector["input"], vector["expected"]["text"]

    made = qr_text(
        passport_version_id=UUID(given_["passport_version_id"]),
        payload_hash=bytes.fromhex(given_["ph"]),
        proof_root_hash=bytes.fromhex(given_["pr"]),
        receipt_hash=bytes.fromhex(given_["rh"]),
    )

    assert made == text
    assert parse(text).receipt_hash.hex() == load("receipt/example")["expected"]["sha256"]


def test_a_golden_proof_names_every_type_of_step() -> None:
    proofs = [json.loads(load(f"proof/{name}")["expected"]["proof"]) for name in NAMES]

    kinds = {step[0] for proof in proofs for step in proof["nodes"]}
    assert kinds == {"CONST", "FACT_GET", "FIELD_REF", "OP", "ASSERT", "COMPLIANCE_EMIT"}
