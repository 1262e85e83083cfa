import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from random import Random
from typing import Any
from uuid import UUID

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus, RegisteredKey
from bpc_worker.core.passport import disclosure
from bpc_worker.core.passport.bundle import (
    FACTS,
    PAYLOAD,
    PROOF,
    QR_TEXT,
    RECEIPT,
    VIEW,
    BundleError,
    Verified,
    verify_bundle,
)
from bpc_worker.core.passport.compile import Compiled
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.core.passport.receipt import (
    Receipt,
    passport_version_id,
    receipt_bytes,
    receipt_hash,
    signed_receipt_bytes,
)
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.source import Limits
from tests.support import proofs
from tests.support.generated import KEY_ID, SEED, inputs

SIGNER = Ed25519Signer(KEY_ID, bytes(32))
REGISTRY = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE)})
MADE = inputs(proofs.EVERYTHING, proofs.FACTS).compiled()
SMALL = inputs(proofs.WORKED_CHECK, proofs.FACTS).compiled()

Parts = dict[str, bytes]


def signed(receipt: Receipt) -> bytes:
    return signed_receipt_bytes(receipt, SIGNER.sign(Kind.RECEIPT, receipt_bytes(receipt)))


def qr_of(receipt: Receipt) -> bytes:
    return qr_text(
        passport_version_id=receipt.passport_version_id,
        payload_hash=receipt.payload_hash,
        proof_root_hash=receipt.proof_root_hash,
        receipt_hash=receipt_hash(receipt),
    ).encode()


def facts_json(facts: Any = proofs.FACTS) -> bytes:
    return canonical_json.encode(
        [
            {"fact_type": each.fact_type, "fact_key": each.fact_key, "payload": dict(each.payload)}
            for each in facts
        ]
    )


def bundle_of(made: Compiled, *, audience: str = "public") -> Parts:
    """Everything a bundle can have."""
    return {
        RECEIPT: signed(made.receipt),
        PAYLOAD: made.payload,
        PROOF: made.proof,
        VIEW: canonical_json.encode(disclosure.view(made.disclosure, audience)),
        FACTS: facts_json(),
        QR_TEXT: qr_of(made.receipt),
    }


WHOLE, LITTLE = bundle_of(MADE), bundle_of(SMALL)


def only(parts: Parts, *names: str) -> Parts:
    return {name: parts[name] for name in (RECEIPT, *names)}


def refused(parts: Parts) -> BundleError:
    with pytest.raises(BundleError) as caught:
        verify_bundle(parts, REGISTRY)
    return caught.value


def checks(found: Verified) -> dict[str, str]:
    return dict(found.checks)


def resigned(parts: Parts, made: Compiled = MADE, **changes: Any) -> Parts:
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
    rest = {name: data for name, data in parts.items() if name != QR_TEXT}
    return rest | {RECEIPT: signed(receipt)}


def test_a_whole_bundle_verifies_in_full() -> None:
    found = verify_bundle({**WHOLE, "README.txt": b"hello"}, REGISTRY)

    assert checks(found) == {
        "receipt": f"sha256 {receipt_hash(MADE.receipt).hex()}",
        "signature": "Ed25519, key test-key",
        "facts": "those of the snapshot",
        "proof": "153 steps, full, with the facts",
        "payload": "as signed, 27 fields as the proof gives them",
        "view": "26 fields for public",
        "qr": "names this passport",
    }
    assert found.receipt == MADE.receipt
    assert found.proof is not None
    assert found.unchecked == ("README.txt",)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((PAYLOAD,), {"payload": "as signed"}),
        ((VIEW,), {"view": "26 fields for public"}),
        (
            (PAYLOAD, PROOF),
            {
                "proof": "153 steps, arithmetic",
                "payload": "as signed, 27 fields as the proof gives them",
            },
        ),
        ((VIEW, PROOF), {"proof": "153 steps, arithmetic", "view": "26 fields for public"}),
        ((VIEW, PAYLOAD), {"payload": "as signed", "view": "26 fields for public"}),
        ((PAYLOAD, FACTS), {"facts": "those of the snapshot", "payload": "as signed"}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else None,
)
def test_a_part_of_it_verifies_as_far_as_it_goes(names: tuple[str, ...], expected: dict[str, str]) -> None:
    found = checks(verify_bundle(only(WHOLE, *names), REGISTRY))

    del found["receipt"], found["signature"]
    assert found == expected


@pytest.mark.parametrize("audience", ["public", "legitimate_interest", "authorities", "commission"])
def test_a_view_verifies_without_the_fields_of_others(audience: str) -> None:
    parts = only(bundle_of(MADE, audience=audience), VIEW)

    found = verify_bundle(parts, REGISTRY)

    assert (b'"path":"secret"' in parts[VIEW]) is (audience == "authorities")
    assert checks(found)["view"].endswith(f"fields for {audience}")
    assert found.proof is None


@pytest.mark.parametrize(
    ("parts", "part"),
    [({}, RECEIPT), (only(WHOLE), PAYLOAD), ({RECEIPT: WHOLE[RECEIPT], PROOF: WHOLE[PROOF]}, PAYLOAD)],
)
def test_a_bundle_without_anything_to_see_is_refused(parts: Parts, part: str) -> None:
    assert refused(parts).part == part


def flips(data: bytes, step: int) -> Iterator[bytes]:
    """One byte changed, at every so many places."""
    dice = Random(len(data))
    for place in range(0, len(data), step):
        changed = bytearray(data)
        changed[place] ^= 1 << dice.randrange(8)
        yield bytes(changed)


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("part", "step"), [(RECEIPT, 5), (PAYLOAD, 3), (PROOF, 61), (VIEW, 5), (FACTS, 1), (QR_TEXT, 5)]
)
def test_a_flipped_byte_is_noticed_and_its_part_named(part: str, step: int) -> None:
    """Every byte, and through the command: tests/unit/test_flipped_bytes.py."""
    for changed in flips(LITTLE[part], step):
        assert refused({**LITTLE, part: changed}).part == part


@pytest.mark.unmeasured
@pytest.mark.parametrize("part", [PAYLOAD, VIEW, FACTS])
def test_it_is_noticed_without_the_proof_too(part: str) -> None:
    """But for the tree's size, which is signed nowhere: a view alone does not say how much it leaves out."""
    parts = only(LITTLE, PAYLOAD, part)
    size = LITTLE[VIEW].index(b'"tree_size":') + len('"tree_size":')
    for number, changed in enumerate(flips(LITTLE[part], 1)):
        if part != VIEW or number != size:
            assert refused({**parts, part: changed}).part == part


@pytest.mark.parametrize("part", [PAYLOAD, PROOF, VIEW, FACTS, QR_TEXT])
def test_bytes_after_the_end_or_less_of_them_are_noticed(part: str) -> None:
    for changed in (LITTLE[part] + b"\n", LITTLE[part][:-1], b""):
        assert refused({**LITTLE, part: changed}).part == part


@pytest.mark.parametrize("part", [PAYLOAD, PROOF, VIEW, QR_TEXT])
def test_a_part_of_another_passport_is_noticed(part: str) -> None:
    assert refused({**LITTLE, part: WHOLE[part]}).part == part


def test_a_key_that_is_not_in_the_registry_does_not_count() -> None:
    with pytest.raises(BundleError, match=r"receipt\.json: key 'test-key' is not in the registry"):
        verify_bundle(WHOLE, KeyRegistry({}))


def test_a_bundle_of_another_build_is_not_computed_again() -> None:
    parts = resigned(WHOLE, compiler_build_id="bpc-core-9")

    error = refused(parts)

    assert (error.part, "made by bpc-core-9" in error.message) == (PROOF, True)
    assert verify_bundle(only(parts, PAYLOAD, VIEW), REGISTRY).receipt.compiler_build_id == "bpc-core-9"


def test_limits_hold_for_the_proof() -> None:
    with pytest.raises(BundleError, match="expected a list of 1 to 5 steps"):
        verify_bundle(WHOLE, REGISTRY, limits=Limits(nodes=5))


def test_the_law_date_is_the_one_of_the_receipt() -> None:
    error = refused(resigned(WHOLE, law_date=date(2029, 1, 1)))

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
        ([{"fact_type": "A", "fact_key": "b", "payload": {}}] * 2, "is there twice"),
        ([], "they give the snapshot hash"),
    ],
)
def test_facts_that_are_not_the_snapshots_are_refused(listed: Any, message: str) -> None:
    error = refused({**WHOLE, FACTS: canonical_json.encode(listed)})

    assert (error.part, message in error.message) == (FACTS, True)


def test_facts_may_come_in_any_order() -> None:
    assert verify_bundle({**WHOLE, FACTS: facts_json(reversed(proofs.FACTS))}, REGISTRY)


def payload_with(**changes: Any) -> Parts:
    """Another payload, signed by the signer of the passport."""
    payload = canonical_json.encode({**json.loads(MADE.payload), **changes})
    return resigned({**WHOLE, PAYLOAD: payload}, payload_hash=sha256(payload))


def fields_with(path: str, value: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(MADE.payload)["fields"]
    *outer, last = path.split(".")
    place = fields
    for name in outer:
        place = place[name]
    place[last] = value
    return fields


HASHES = json.loads(MADE.proof)


def form_of(path: str) -> Any:
    return HASHES["nodes"][HASHES["field_index"][path]]["data"]["result"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("carbon.per_kwh", {"unit": "kgCO2e_per_kWh", "value": "0.16"}),
        ("carbon.per_kwh", {"unit": "kgCO2e_per_kWh", "value": "0.150"}),
        ("carbon.per_kwh", {"unit": "kgCO2e_per_kWh", "value": "0.15", "note": ""}),
        ("carbon.per_kwh", form_of("carbon.per_kwh")),
        ("carbon.per_kwh", None),
        ("carbon.low", 1),
        ("carbon.low", "true"),
        ("plain.absent", 0),
        ("plain.date", "2026-12-01"),
        ("plain.date", form_of("plain.date")),
        ("plain.large", 5),
        ("plain.large", "27021597764222981"),
        ("plain.large", form_of("plain.large")),
        ("plain.map", {"L": 20, "M1": 60, "N1": 60}),
        ("plain.map", {"L": 20, "M1": "60"}),
        ("plain.map", form_of("plain.map")),
        ("plain.member", True),
        ("plain.record", {"a": 1}),
        ("plain.record", {"a": 1, "b": None, "c": None}),
        ("plain.record", {"a": True, "b": None}),
        ("plain.record", 5),
        ("plain.text", "acme"),
        ("plain.text", ["ACME"]),
        ("lists.cells", ["3.50", "1.26"]),
        ("lists.cells", ["1.25", "3.50"]),
        ("lists.cells", ["3.50"]),
        ("lists.cells", form_of("lists.cells")),
        ("lists.cells", "3.50"),
        ("lists.sum", 4.75 * 4),
        ("numbers.taken", None),
        ("secret", {"empty": "withheld", "reason": "until 2031"}),
        ("secret", "5"),
    ],
)
@pytest.mark.parametrize("with_facts", [True, False])
def test_payload_and_proof_agree_field_by_field(path: str, value: Any, *, with_facts: bool) -> None:
    whole = value if not isinstance(value, float) else int(value)
    parts = payload_with(fields=fields_with(path, whole))
    if not with_facts:
        del parts[FACTS]
    del parts[VIEW]

    error = refused(parts)

    assert error.part == PAYLOAD
    assert f"/fields/{path.replace('.', '/')}: " in error.message


def test_a_field_too_few_or_too_many_is_noticed() -> None:
    missing = json.loads(MADE.payload)["fields"]
    del missing["carbon"]["low"]

    assert "the field carbon.low is missing" in refused(payload_with(fields=missing)).message
    assert "is missing" in refused(payload_with(fields=5)).message
    added = refused(payload_with(fields=fields_with("carbon.high", False)))
    assert added.message == "/fields: there are other fields than in the proof"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"schema": "BPC-PASSPORT-2"}, "/schema"),
        ({"passport_id": str(UUID(int=9))}, "/passport_id"),
        ({"battery_product_id": str(UUID(int=9))}, "/battery_product_id"),
        ({"battery_product_id": "x"}, "/battery_product_id"),
        ({"compliance": []}, "/compliance"),
        ({"compliance": [{"code": "ART_7", "holds": 1, "message": "low carbon"}]}, "/compliance"),
        ({"note": 1}, "unknown: 'note'"),
    ],
)
def test_a_payload_says_what_the_receipt_and_the_proof_say(changes: dict[str, Any], place: str) -> None:
    error = refused(payload_with(**changes))

    assert (error.part, error.message.startswith(place)) == (PAYLOAD, True)


def test_a_payload_that_is_no_object_is_refused() -> None:
    parts = resigned({**WHOLE, PAYLOAD: b"[]"}, payload_hash=sha256(b"[]"))

    assert refused(parts).part == PAYLOAD


def view_with(path: str, field: disclosure.Field | None) -> Parts:
    """A view of a tree with one field changed, or left out, signed by the signer of the passport."""
    fields = {
        leaf.path: disclosure.Field(leaf.path, leaf.audiences, json.loads(leaf.canonical)["value"])
        for leaf in MADE.disclosure.leaves
    }
    changed = {**fields, path: field}
    tree = disclosure.tree([each for each in changed.values() if each is not None], SEED)
    view = canonical_json.encode(disclosure.view(tree, "public"))
    return resigned({**WHOLE, VIEW: view}, disclosure_root=tree.root)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (disclosure.Field("carbon.low", {"public"}, value=False), "carbon.low is not what the proof gives"),
        (disclosure.Field("carbon.low", {"public", "commission"}, value=True), "the proof has public"),
        (disclosure.Field("carbon.low", {"authorities"}, value=True), "other fields than the proof has"),
        (None, "other fields than the proof has"),
    ],
)
def test_a_view_shows_what_the_proof_gives_and_to_whom(field: disclosure.Field | None, message: str) -> None:
    parts = view_with("carbon.low", field)

    error = refused(parts)

    assert (error.part, message in error.message) == (VIEW, True)


def test_a_view_of_a_tree_with_more_fields_is_noticed() -> None:
    parts = view_with("zzz", disclosure.Field("zzz", {"authorities"}, 5))

    assert refused(parts).part == VIEW


def test_without_a_proof_a_view_must_show_what_the_payload_shows() -> None:
    changed = view_with("carbon.low", disclosure.Field("carbon.low", {"public"}, value=False))
    more = view_with("carbon.high", disclosure.Field("carbon.high", {"public"}, value=False))

    error = refused(only(changed, VIEW, PAYLOAD))

    assert (error.part, "the payload has another carbon.low" in error.message) == (VIEW, True)
    assert "the field carbon.high is missing" in refused(only(more, VIEW, PAYLOAD)).message


def test_a_fact_too_many_makes_another_snapshot() -> None:
    facts = facts_json([*proofs.FACTS, make_fact("Stage", "stage:9", {})])

    assert refused({**WHOLE, FACTS: facts}).part == FACTS


def test_a_receipt_of_another_proof_is_noticed() -> None:
    parts = resigned(WHOLE, proof_root_hash=bytes(32))

    error = refused(parts)

    assert (error.part, "its root hash is" in error.message) == (PROOF, True)


def test_the_result_is_a_value() -> None:
    found = verify_bundle(LITTLE, REGISTRY)

    assert replace(found) == found
