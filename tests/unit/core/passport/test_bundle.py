import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from random import Random
from typing import Any

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import KeyRegistry
from bpc_worker.core.passport.bundle import (
    FACTS,
    NEEDED,
    PAYLOAD,
    PROOF,
    QR_TEXT,
    RECEIPT,
    RULES,
    SNAPSHOT,
    VIEW,
    BundleError,
    verify_bundle,
)
from bpc_worker.core.passport.receipt import (
    Receipt,
    passport_version_id,
    receipt_bytes,
    receipt_hash,
    signed_receipt_bytes,
)
from bpc_worker.core.passport.view import cut
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.source import Limits
from tests.support import proofs
from tests.support.generated import Compiled, inputs
from tests.support.passports import SIGNER, bundle_of, registry, whole_view

REGISTRY = registry()
MADE = inputs(proofs.EVERYTHING, proofs.FACTS).compiled()
SMALL = inputs(proofs.WORKED_CHECK, proofs.FACTS).compiled()
WHOLE, LITTLE = bundle_of(MADE), bundle_of(SMALL)

Parts = dict[str, bytes]


def facts_json(facts: Any = proofs.FACTS) -> bytes:
    return canonical_json.encode(
        [
            {"fact_type": each.fact_type, "fact_key": each.fact_key, "payload": dict(each.payload)}
            for each in facts
        ]
    )


def refused(parts: Parts) -> BundleError:
    with pytest.raises(BundleError) as caught:
        verify_bundle(parts, REGISTRY)
    return caught.value


def resigned(parts: Parts, made: Compiled = SMALL, **changes: Any) -> Parts:
    """The parts with a receipt that was changed and signed again: only the signer can do that."""
    fields = {name: getattr(made.receipt, name) for name in Receipt.__dataclass_fields__} | changes
    for fixed in ("receipt_version", "signature_alg", "passport_version_id"):
        del fields[fixed]
    names = (
        "tenant_id", "passport_id", "snapshot_id", "rule_package_version_id", "compiler_build_id", "law_date",
        "issued_at",
    )  # fmt: skip
    version = passport_version_id(**{name: fields[name] for name in names})
    receipt = Receipt(passport_version_id=version, **fields)
    signed = signed_receipt_bytes(receipt, SIGNER.sign(Kind.RECEIPT, receipt_bytes(receipt)))
    return {name: data for name, data in parts.items() if name != QR_TEXT} | {RECEIPT: signed}


def test_a_whole_bundle_verifies_in_full() -> None:
    found = verify_bundle({**WHOLE, "README.txt": b"hello"}, REGISTRY)

    assert dict(found.checks) == {
        "receipt": f"sha256 {receipt_hash(MADE.receipt).hex()}",
        "signature": "Ed25519, key test-key",
        "facts": "9, those of the snapshot",
        "proof": "230 steps, full, with the facts",
        "payload": "49 fields, as the rules give them",
        "view": "50 disclosures of fields and statements, all there are",
        "qr": "names this passport",
    }
    assert found.receipt == MADE.receipt
    assert found.unchecked == ("README.txt",)


@pytest.mark.parametrize("part", NEEDED)
def test_a_bundle_that_cannot_be_made_again_is_refused(part: str) -> None:
    parts = {name: data for name, data in LITTLE.items() if name != part}

    assert str(refused(parts)) == f"{part}: it is not in the bundle"


def test_the_code_may_be_left_out() -> None:
    verify_bundle({name: data for name, data in LITTLE.items() if name != QR_TEXT}, REGISTRY)


CONSTANTS = """
field energy.total: Qty(kWh) for public, commission = qty(48000.0, kWh);
field carbon.total: Qty(kgCO2e) = qty(1, kgCO2e);
field carbon.per_kwh: Qty(kgCO2e_per_kWh) = qty(0.01, kgCO2e_per_kWh);
field carbon.low: Bool = emitCompliance("ART_7", true, "low carbon");
"""


def test_constants_under_the_named_rules_are_refused_with_the_field() -> None:
    """Signed by the key's owner, every hash right and the proof sound: only the rules do not say so."""
    forged = inputs(CONSTANTS, proofs.FACTS)
    named = replace(SMALL.inputs, identity=SMALL.inputs.identity)
    made = replace(forged, identity=named.identity).compiled()
    parts = bundle_of(made) | {RULES: LITTLE[RULES]}

    error = refused(parts)

    assert error.part == PAYLOAD
    assert error.message == (
        "/fields/carbon/per_kwh/value: the rules do not give this: expected '0.15', found '0.01'"
    )


def flips(data: bytes, step: int) -> Iterator[bytes]:
    """One byte changed, at every so many places."""
    dice = Random(len(data))
    for place in range(0, len(data), step):
        changed = bytearray(data)
        changed[place] ^= 1 << dice.randrange(8)
        yield bytes(changed)


STEPS = [
    (RECEIPT, 11),
    (PAYLOAD, 7),
    (PROOF, 61),
    (SNAPSHOT, 5),
    (RULES, 9),
    (VIEW, 13),
    (FACTS, 3),
    (QR_TEXT, 5),
]


@pytest.mark.unmeasured
@pytest.mark.parametrize(("part", "step"), STEPS)
def test_a_flipped_byte_is_noticed_and_its_part_named(part: str, step: int) -> None:
    """Every byte, and through the command: tests/unit/test_flipped_bytes.py."""
    for changed in flips(LITTLE[part], step):
        assert refused({**LITTLE, part: changed}).part == part


@pytest.mark.parametrize("part", sorted(LITTLE))
def test_bytes_after_the_end_or_less_of_them_are_noticed(part: str) -> None:
    for changed in (LITTLE[part] + b"\n", LITTLE[part][:-1], b""):
        assert refused({**LITTLE, part: changed}).part == part


@pytest.mark.parametrize("part", [PAYLOAD, PROOF, VIEW, SNAPSHOT, RULES, QR_TEXT])
def test_a_part_of_another_passport_is_noticed(part: str) -> None:
    other = bundle_of(inputs(proofs.EVERYTHING, proofs.FACTS[:1] + proofs.FACTS[2:]).compiled())

    assert refused({**WHOLE, part: LITTLE[part] if part != SNAPSHOT else other[part]}).part == part


def test_a_key_that_is_not_in_the_registry_does_not_count() -> None:
    with pytest.raises(BundleError, match=r"receipt\.json: key 'test-key' is not in the registry"):
        verify_bundle(WHOLE, KeyRegistry({}))


def test_a_bundle_of_another_build_is_not_computed_again() -> None:
    error = refused(resigned(LITTLE, compiler_build_id="bpc-core-9"))

    assert (error.part, "made by bpc-core-9" in error.message) == (PROOF, True)


def test_limits_hold_for_rules_and_proof() -> None:
    with pytest.raises(BundleError, match=r"rules\.txt: RULE_LIMIT_EXCEEDED"):
        verify_bundle(LITTLE, REGISTRY, limits=Limits(nodes=5))
    with pytest.raises(BundleError, match=r"proof\.json: .*RULE_LIMIT_EXCEEDED"):
        verify_bundle(LITTLE, REGISTRY, limits=Limits(steps=5))


def test_the_law_date_is_the_one_of_the_receipt() -> None:
    error = refused(resigned(WHOLE, MADE, law_date=date(2029, 1, 1)))

    assert (error.part, "the law date" in error.message) == (PROOF, True)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ({}, "expected an array"),
        ([5], "/0: expected an object"),
        ([{"fact_type": "A", "fact_key": "b"}], "/0: missing: payload"),
        ([{"fact_type": "A", "fact_key": "b", "payload": {}, "note": 1}], "/0: unknown: 'note'"),
        ([{"fact_type": "A", "fact_key": "b", "payload": []}], "/0/payload: expected an object"),
        ([{"fact_type": "", "fact_key": "b", "payload": {}}], "/0/fact_type: expected a text"),
        (
            [{"fact_type": "A", "fact_key": "b", "payload": {}}],
            "the facts are not the snapshot's: A b, Battery battery:X",
        ),
        ([], "the facts are not the snapshot's: Battery battery:X"),
    ],
)
def test_facts_that_are_not_the_snapshots_are_refused(listed: Any, message: str) -> None:
    error = refused({**LITTLE, FACTS: canonical_json.encode(listed)})

    assert (error.part, message in error.message) == (FACTS, True)


def test_a_fact_too_many_or_twice_is_noticed() -> None:
    more = facts_json([*proofs.FACTS, make_fact("Stage", "stage:9", {})])
    twice = facts_json([*proofs.FACTS, proofs.FACTS[0]])

    assert "the snapshot's: Stage stage:9" in refused({**LITTLE, FACTS: more}).message
    assert "the snapshot's: Battery battery:X" in refused({**LITTLE, FACTS: twice}).message


def test_facts_may_come_in_any_order() -> None:
    assert verify_bundle({**LITTLE, FACTS: facts_json(reversed(proofs.FACTS))}, REGISTRY)


def payload_with(**changes: Any) -> Parts:
    """Another payload, signed by the signer of the passport."""
    payload = canonical_json.encode({**json.loads(SMALL.payload), **changes})
    return resigned({**LITTLE, PAYLOAD: payload}, payload_hash=sha256(payload))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"schema": "BPC-PASSPORT-1"}, "/schema"),
        ({"passport_id": "x"}, "/passport_id"),
        ({"battery_product_id": "x"}, "/battery_product_id"),
        ({"compliance": []}, "/compliance/0"),
        ({"compliance": [{"code": "ART_7", "holds": 1, "message": "low carbon"}]}, "/compliance/0/holds"),
        ({"fields": {}}, "/fields/carbon"),
        ({"note": 1}, "/note"),
    ],
)
def test_a_payload_says_what_the_rules_give(changes: dict[str, Any], place: str) -> None:
    error = refused(payload_with(**changes))

    assert (error.part, error.message.startswith(f"{place}: ")) == (PAYLOAD, True), error


def test_another_salt_is_named_as_such() -> None:
    payload = canonical_json.encode({**json.loads(SMALL.payload), "salt": "00" * 16})

    error = refused({**LITTLE, PAYLOAD: payload})

    assert (error.part, error.message.startswith("/salt: sha256 ")) == (PAYLOAD, True)


@pytest.mark.parametrize("payload", [b"[]", b'{"salt":"00"}', b"{}"])
def test_a_payload_without_a_salt_is_refused(payload: bytes) -> None:
    error = refused(resigned({**LITTLE, PAYLOAD: payload}, payload_hash=sha256(payload)))

    assert (error.part, error.message.startswith("/salt: expected a salt")) == (PAYLOAD, True)


def test_the_view_of_an_audience_is_not_enough() -> None:
    error = refused({**LITTLE, VIEW: cut(whole_view(SMALL), "commission").encode()})

    assert (error.part, error.message) == (
        VIEW, "/disclosures: not all are there: it is the view of commission"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            proofs.WORKED_CHECK.replace("for public, commission", "for authorities"),
            "the rules make a set for commission, public, the view has none",
        ),
        (
            proofs.WORKED_CHECK.replace("carbon.low", "carbon.tiny"),
            "the rules make carbon.low, the view has no",
        ),
    ],
)
def test_a_view_of_other_rules_is_noticed(rules: str, message: str) -> None:
    other = inputs(rules, proofs.FACTS).compiled()

    error = refused({**LITTLE, VIEW: whole_view(other).encode()})

    assert (error.part, message in error.message) == (VIEW, True), error


def test_a_receipt_of_another_proof_is_noticed() -> None:
    error = refused(resigned(LITTLE, proof_root_hash=bytes(32)))

    assert (error.part, "its root hash is" in error.message) == (PROOF, True)


def test_a_receipt_that_differs_elsewhere_is_named_with_the_member() -> None:
    error = refused(resigned(LITTLE, fields_sha256=bytes(32)))

    assert (error.part, error.message.startswith("/fields_sha256: ")) == (RECEIPT, True)


def test_rules_that_cannot_be_read_are_refused() -> None:
    for data in (b"field", b"\xff"):
        error = refused(resigned({**LITTLE, RULES: data}, dsl_sha256=sha256(data)))

        assert error.part == RULES


def test_the_result_is_a_value() -> None:
    found = verify_bundle(LITTLE, REGISTRY)

    assert replace(found) == found
