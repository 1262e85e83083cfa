from dataclasses import replace
from typing import Any

import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus, RegisteredKey
from bpc_worker.core.passport.compile import Sizes
from bpc_worker.core.passport.receipt import Receipt, SignedReceipt, passport_version_id, receipt_bytes
from bpc_worker.core.passport.replay import ReplayMismatchError, Stored, replay
from bpc_worker.core.passport.snapshot import open_snapshot, seal
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits
from tests.support.generated import KEY_ID, SEED, inputs
from tests.support.proofs import FACTS, WORKED_CHECK

SIGNER = Ed25519Signer(KEY_ID, bytes(32))
REGISTRY = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE)})
GIVEN = inputs(WORKED_CHECK, FACTS)
MADE = GIVEN.compiled()


def signed(receipt: Receipt) -> SignedReceipt:
    return SignedReceipt(receipt, SIGNER.sign(Kind.RECEIPT, receipt_bytes(receipt)))


STORED = Stored(
    signed=signed(MADE.receipt),
    payload=MADE.payload,
    proof=MADE.proof,
    snapshot=GIVEN.snapshot.canonical,
    facts=FACTS,
    rules=GIVEN.rules,
    disclosure_seed=SEED,
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

    assert (made.payload, made.proof, made.receipt) == (MADE.payload, MADE.proof, MADE.receipt)


def test_a_retired_key_still_counts_and_a_revoked_one_does_not() -> None:
    retired = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.RETIRED)})
    revoked = KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.REVOKED)})

    replay(STORED, retired)
    assert mismatch(revoked).what == "signature"


OTHER_BYTES = bytes([1]) * 32
UNORDERED = b'{"facts":[],"snapshot_id":"x","snapshot_version":"BPC-SNAPSHOT-1"}'


@pytest.mark.parametrize(
    ("changes", "what", "message"),
    [
        ({"payload": MADE.payload + b" "}, "payload", "stored"),
        ({"proof": MADE.proof[:-1] + b" }"}, "proof", "stored"),
        ({"snapshot": b"{}"}, "snapshot", "stored"),
        ({"facts": FACTS[1:]}, "facts", "not the snapshot's: Battery battery:X"),
        ({"facts": (make_fact("Battery", "battery:X", {}), *FACTS[1:])}, "facts", "not the snapshot's"),
        ({"rules": load("field a: Int = 1;")}, "rules", "stored"),
        ({"disclosure_seed": OTHER_BYTES}, "disclosure", "stored"),
        ({"signed": receipt_with(payload_hash=OTHER_BYTES)}, "payload", "stored 0101"),
        ({"signed": receipt_with(proof_root_hash=OTHER_BYTES)}, "proof", "stored 0101"),
        ({"signed": receipt_with(disclosure_root=OTHER_BYTES)}, "disclosure", "stored 0101"),
        ({"signed": receipt_with(snapshot_hash=OTHER_BYTES)}, "snapshot", "stored"),
        ({"signed": receipt_with(dsl_sha256=OTHER_BYTES)}, "rules", "stored"),
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
    assert "made by bpc-core-9: this release knows bpc-core-1" in error.message


def test_a_receipt_of_another_snapshot_is_noticed() -> None:
    other = seal(GIVEN.snapshot.snapshot_id, GIVEN.snapshot.facts[1:])
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

    assert (error.what, "uuid" in error.message) == ("snapshot", True)


def test_limits_and_sizes_are_those_that_are_given() -> None:
    with pytest.raises(ReplayMismatchError, match="rules: RULE_LIMIT_EXCEEDED"):
        replay(STORED, REGISTRY, limits=Limits(steps=10))
    with pytest.raises(ReplayMismatchError, match="rules: PROOF_TOO_LARGE"):
        replay(STORED, REGISTRY, sizes=Sizes(proof=10))
