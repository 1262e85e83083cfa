import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus, RegisteredKey
from bpc_worker.core.passport.compile import Sizes
from bpc_worker.core.passport.receipt import Receipt, SignedReceipt, passport_version_id, receipt_bytes
from bpc_worker.core.passport.replay import ReplayMismatchError, Stored, replay
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.snapshot import open_snapshot, seal
from bpc_worker.core.passport.view import assemble, claims, cut, jws
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits
from tests.support.generated import KEY_ID, SEED, inputs
from tests.support.passports import SIGNER, whole_view
from tests.support.proofs import FACTS, WORKED_CHECK

REGISTRY = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE)})
GIVEN = inputs(WORKED_CHECK, FACTS)
MADE = GIVEN.compiled()


def signed(receipt: Receipt) -> SignedReceipt:
    return SignedReceipt(receipt, SIGNER.sign(Kind.RECEIPT, receipt_bytes(receipt)))


STORED = Stored(
    signed=signed(MADE.receipt),
    payload=MADE.payload,
    proof=MADE.proof,
    view=whole_view(MADE),
    snapshot=GIVEN.snapshot.canonical,
    facts=FACTS,
    rules=GIVEN.rules,
    salts=Salts(SEED),
)


def receipt_with(**changes: Any) -> SignedReceipt:
    """Signed with our key: whoever has it could still sign something that the inputs do not give."""
    fields = {name: getattr(MADE.receipt, name) for name in Receipt.__dataclass_fields__}
    fields |= changes
    for fixed in ("receipt_version", "signature_alg", "passport_version_id"):
        del fields[fixed]
    named = {
        name: fields[name]
        for name in (
            "tenant_id", "passport_id", "snapshot_id", "rule_package_version_id", "compiler_build_id",
            "law_date", "issued_at",
        )
    }  # fmt: skip
    return signed(Receipt(passport_version_id=passport_version_id(**named), **fields))


def mismatch(registry: KeyRegistry = REGISTRY, **changes: Any) -> ReplayMismatchError:
    with pytest.raises(ReplayMismatchError) as caught:
        replay(replace(STORED, **changes), registry)
    return caught.value


def test_the_same_inputs_make_the_same_passport() -> None:
    made = replay(STORED, REGISTRY)

    assert made == MADE.evaluated


def test_a_retired_key_still_counts_and_a_revoked_one_does_not() -> None:
    retired = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.RETIRED)})
    revoked = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.REVOKED)})

    replay(STORED, retired)
    assert mismatch(revoked).what == "signature"


OTHER_BYTES = bytes([1]) * 32
UNORDERED = b'{"facts":[],"salt":"00","snapshot_id":"x","snapshot_version":"BPC-SNAPSHOT-2"}'
WHOLE = whole_view(MADE)
CLAIMS = claims(MADE.receipt, MADE.evaluated.fields)
OTHER_VIEW = whole_view(inputs(WORKED_CHECK, FACTS, law_date=date(2029, 1, 1)).compiled())


def swapped(text: str) -> str:
    """The same disclosures in another order, which is no fault of a view but not what was made."""
    signed, *kept, _ = text.split("~")
    return "~".join([signed, *kept[::-1], ""])


def other_key() -> tuple[KeyRegistry, str]:
    """A view that another key of the tenant has signed."""
    signer = Ed25519Signer("another", bytes([7]) * 32)
    both = {"another": RegisteredKey(signer.public_key, KeyStatus.ACTIVE), **REGISTRY.keys}
    signed = jws(CLAIMS, "another", signer.sign(Kind.VIEW, CLAIMS))
    return KeyRegistry(both), assemble(signed, MADE.evaluated.disclosures)


def test_the_view_is_signed_with_the_key_of_the_receipt() -> None:
    keys, view = other_key()

    error = mismatch(keys, view=view)

    assert (error.what, error.message.startswith("/header/kid: ")) == ("view", True)


def payload_with(path: str, value: Any) -> bytes:
    payload = json.loads(MADE.payload)
    *outer, last = path.split("/")
    place = payload
    for name in outer:
        place = place[name]
    place[last] = value
    return canonical_json.encode(payload)


@pytest.mark.parametrize(
    ("changes", "what", "message"),
    [
        ({"payload": MADE.payload + b" "}, "payload", "not canonical"),
        (
            {"payload": payload_with("fields/carbon/total/value", "5401")},
            "payload",
            "/fields/carbon/total/value: the rules do not give this: expected '5400', found '5401'",
        ),
        ({"payload": payload_with("salt", "00" * 16)}, "payload", "/salt: the rules do not give this"),
        ({"proof": MADE.proof[:-1] + b" }"}, "proof", "not canonical"),
        ({"proof": MADE.proof.replace(b'"5400"', b'"5401"', 1)}, "proof", "/nodes/"),
        ({"snapshot": b"{}"}, "snapshot", "hash: expected"),
        ({"view": WHOLE[:-1]}, "view", "/end: "),
        ({"view": OTHER_VIEW}, "view", "/claims/fields/0/_sd/0: expected"),
        ({"view": cut(WHOLE, "public")}, "view", "/disclosures"),
        ({"view": swapped(WHOLE)}, "view", "/disclosures/0: expected that of 'of' here"),
        ({"facts": FACTS[1:]}, "facts", "not the snapshot's: Battery battery:X"),
        ({"facts": (make_fact("Battery", "battery:X", {}), *FACTS[1:])}, "facts", "not the snapshot's"),
        ({"rules": load("field a: Int = 1;")}, "rules", "the text: sha256"),
        ({"salts": Salts(OTHER_BYTES)}, "payload", "/salt: the rules do not give this"),
        ({"signed": receipt_with(payload_hash=OTHER_BYTES)}, "payload", "the receipt says 0101"),
        ({"signed": receipt_with(proof_root_hash=OTHER_BYTES)}, "proof", "the receipt says 0101"),
        ({"signed": receipt_with(fields_sha256=OTHER_BYTES)}, "receipt", "/fields_sha256: "),
        ({"signed": receipt_with(audiences=("public",))}, "receipt", "/audiences/0: "),
        ({"signed": receipt_with(snapshot_hash=OTHER_BYTES)}, "snapshot", "hash: expected 0101"),
        ({"signed": receipt_with(dsl_sha256=OTHER_BYTES)}, "rules", "the receipt says 0101"),
        ({"signed": receipt_with(tests_sha256=OTHER_BYTES)}, "rules", "its tests: sha256"),
        ({"signed": receipt_with(rules_name="other")}, "view", "/claims/receipt_hash: "),
        ({"signed": SignedReceipt(MADE.receipt, bytes(64))}, "signature", "not a signature"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_difference_is_named(changes: dict[str, Any], what: str, message: str) -> None:
    error = mismatch(**changes)

    assert error.what == what
    assert message in error.message
    assert str(error).startswith(f"REPLAY_MISMATCH {what}: ")


def test_an_unknown_build_says_what_this_release_knows() -> None:
    error = mismatch(signed=receipt_with(compiler_build_id="bpc-core-9"))

    assert error.what == "build"
    assert "made by bpc-core-9: this release knows bpc-core-2" in error.message


def test_a_receipt_of_another_snapshot_is_noticed() -> None:
    other = seal(GIVEN.snapshot.snapshot_id, GIVEN.snapshot.facts[1:], GIVEN.snapshot.salt)
    again = receipt_with(snapshot_hash=other.snapshot_hash)

    assert mismatch(signed=again, snapshot=other.canonical, facts=FACTS).what == "facts"


def test_a_receipt_that_differs_elsewhere_is_noticed() -> None:
    """A receipt for a snapshot of another id: every hash is right, and still it is another receipt."""
    renamed = open_snapshot(GIVEN.snapshot.canonical, GIVEN.snapshot.snapshot_hash)
    again = receipt_with(snapshot_id=MADE.receipt.tenant_id)

    error = mismatch(signed=again, snapshot=renamed.canonical)

    assert error.what == "receipt"


def test_a_snapshot_that_hashes_well_but_is_none_is_refused() -> None:
    error = mismatch(signed=receipt_with(snapshot_hash=sha256(UNORDERED)), snapshot=UNORDERED)

    assert (error.what, "/snapshot_id" in error.message) == ("snapshot", True)


def test_limits_and_sizes_are_those_that_are_given() -> None:
    with pytest.raises(ReplayMismatchError, match="rules: RULE_LIMIT_EXCEEDED"):
        replay(STORED, REGISTRY, limits=Limits(steps=10))
    with pytest.raises(ReplayMismatchError, match="rules: PROOF_TOO_LARGE"):
        replay(STORED, REGISTRY, sizes=Sizes(proof=10))
