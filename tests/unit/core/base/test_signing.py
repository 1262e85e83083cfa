import copy
import json
import pickle
import re
import shutil
import subprocess
from base64 import b64encode
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import (
    PURPOSE_OF,
    Ed25519Signer,
    Fault,
    KeyRegistry,
    KeyStatus,
    Purpose,
    RegisteredKey,
    SignatureError,
    check_may_sign,
    check_public_key,
    sign_ed25519,
    verify,
    verify_ed25519,
)
from bpc_worker.core.passport.receipt import receipt_bytes, signed_receipt_bytes
from tests.support.generated import inputs
from tests.support.published import published
from tests.vectors import load

SEED = sha256(b"a seed")
RECEIPT = encode({"a": "receipt"})
HASH = sha256(RECEIPT)
SIGNER = Ed25519Signer("key-1", SEED)
SIGNATURE = SIGNER.sign(Kind.RECEIPT, RECEIPT)
FORMATS = Path(__file__).parents[4] / "docs" / "formats.md"


def a_registry(status: KeyStatus = KeyStatus.ACTIVE, **others: RegisteredKey) -> KeyRegistry:
    return KeyRegistry({"key-1": RegisteredKey(SIGNER.public_key, status), **others})


def fault_of(error: pytest.ExceptionInfo[SignatureError]) -> Fault:
    return error.value.fault


def as_bytes(case: dict[str, Any]) -> tuple[bytes, bytes, bytes]:
    key, message, signature = (bytes.fromhex(case[name]) for name in ("public_key", "message", "signature"))
    return key, message, signature


@pytest.mark.parametrize("case", load("sign/rfc8032")["cases"])
def test_vectors_of_rfc_8032_give_their_keys_and_signatures(case: dict[str, str]) -> None:
    key, message, signature = as_bytes(case)
    signer = Ed25519Signer("rfc", bytes.fromhex(case["seed"]))

    assert signer.public_key == key
    assert sign_ed25519(bytes.fromhex(case["seed"]), message) == signature
    verify_ed25519(key, message, signature)


def test_the_golden_vector_gives_its_signature() -> None:
    vector = load("sign/example")
    signer = Ed25519Signer("vectors-2027", bytes.fromhex(vector["input"]["seed"]))
    registry = KeyRegistry({signer.key_id: RegisteredKey(signer.public_key, KeyStatus.ACTIVE)})
    seed, receipt_hash = (bytes.fromhex(vector["input"][name]) for name in ("seed", "receipt_hash"))

    check_may_sign(signer, registry, Kind.RECEIPT, key_id="vectors-2027")
    signature = sign_ed25519(seed, receipt_hash)

    assert signer.public_key.hex() == vector["expected"]["public_key"]
    assert signature.hex() == vector["expected"]["signature"]


@pytest.mark.parametrize("case", load("sign/refused")["cases"], ids=lambda case: case["fault"])
def test_golden_keys_and_signatures_that_are_wrong_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(SignatureError) as caught:
        verify_ed25519(*as_bytes(case))

    assert fault_of(caught) == case["fault"]


@pytest.mark.parametrize("case", [case for case in load("sign/refused")["cases"] if case["lenient"]])
def test_the_library_alone_would_accept_keys_of_small_order(case: dict[str, Any]) -> None:
    """Why the checks are ours: these signatures verify, though nobody holds a private key."""
    key, message, signature = as_bytes(case)

    Ed25519PublicKey.from_public_bytes(key).verify(signature, message)


def test_all_points_of_small_order_are_refused() -> None:
    cases = load("sign/refused")["cases"]
    small = {case["public_key"] for case in cases if case["fault"] == Fault.KEY_OF_SMALL_ORDER}

    assert len(small) == 8
    assert len([case for case in cases if case["fault"] == Fault.KEY_NOT_CANONICAL]) == 6


@pytest.fixture
def wycheproof() -> Path:
    return published("vectors", "ed25519_wycheproof.json")


def accepts(key: str, case: dict[str, str]) -> bool:
    try:
        verify_ed25519(*as_bytes({"public_key": key, "message": case["msg"], "signature": case["sig"]}))
    except SignatureError:
        return False
    return True


def test_all_cases_of_wycheproof_end_as_published(wycheproof: Path) -> None:
    groups = json.loads(wycheproof.read_bytes())["testGroups"]
    cases = [(group["publicKey"]["pk"], case) for group in groups for case in group["tests"]]

    differing = [case["tcId"] for key, case in cases if accepts(key, case) is not (case["result"] == "valid")]

    assert len(cases) == 151
    assert differing == []


def test_the_long_vector_of_rfc_8032_gives_its_key_and_signature(wycheproof: Path) -> None:
    """TEST 1024 of section 7.1: the seed is that of the RFC, the 1023 bytes are published with Wycheproof."""
    groups = json.loads(wycheproof.read_bytes())["testGroups"]
    [(key, case)] = [
        (group["publicKey"]["pk"], case)
        for group in groups
        for case in group["tests"]
        if case["comment"].endswith("Test 1024")
    ]
    seed = bytes.fromhex("f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5")

    assert len(case["msg"]) == 2 * 1023
    assert Ed25519Signer("rfc", seed).public_key.hex() == key
    assert sign_ed25519(seed, bytes.fromhex(case["msg"])).hex() == case["sig"]
    verify_ed25519(*as_bytes({"public_key": key, "message": case["msg"], "signature": case["sig"]}))


def test_any_flipped_bit_of_the_signature_is_noticed() -> None:
    for bit in range(8 * len(SIGNATURE)):
        flipped = bytearray(SIGNATURE)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SignatureError) as caught:
            verify(a_registry(), "key-1", Kind.RECEIPT, RECEIPT, bytes(flipped))
        assert fault_of(caught) in {Fault.BAD_SIGNATURE, Fault.S_NOT_CANONICAL}


def test_any_flipped_bit_of_the_document_is_noticed() -> None:
    for bit in range(8 * len(RECEIPT)):
        flipped = bytearray(RECEIPT)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SignatureError) as caught:
            verify(a_registry(), "key-1", Kind.RECEIPT, bytes(flipped), SIGNATURE)
        assert fault_of(caught) is Fault.BAD_SIGNATURE


def test_signatures_are_over_raw_bytes_and_not_over_hex() -> None:
    Ed25519PublicKey.from_public_bytes(SIGNER.public_key).verify(SIGNATURE, HASH)
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(SIGNER.public_key).verify(SIGNATURE, HASH.hex().encode())


@pytest.mark.parametrize("status", [KeyStatus.ACTIVE, KeyStatus.RETIRED])
def test_active_and_retired_keys_verify(status: KeyStatus) -> None:
    verify(a_registry(status), "key-1", Kind.RECEIPT, RECEIPT, SIGNATURE)


def test_a_revoked_key_does_not_verify() -> None:
    with pytest.raises(SignatureError, match=r"^key 'key-1' is revoked$") as caught:
        verify(a_registry(KeyStatus.REVOKED), "key-1", Kind.RECEIPT, RECEIPT, SIGNATURE)

    assert fault_of(caught) is Fault.REVOKED


def test_a_revoked_key_does_not_verify_under_another_name_either() -> None:
    registry = a_registry(KeyStatus.REVOKED, other=RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE))

    with pytest.raises(SignatureError) as caught:
        verify(registry, "other", Kind.RECEIPT, RECEIPT, SIGNATURE)

    assert fault_of(caught) is Fault.REVOKED


def test_an_unknown_key_does_not_verify() -> None:
    with pytest.raises(SignatureError, match=r"^key 'key-2' is not in the registry$") as caught:
        verify(a_registry(), "key-2", Kind.RECEIPT, RECEIPT, SIGNATURE)

    assert fault_of(caught) is Fault.UNKNOWN_KEY


@pytest.mark.parametrize("size", [0, 32, 63, 65, 128])
def test_a_signature_of_another_length_does_not_verify(size: int) -> None:
    with pytest.raises(SignatureError, match=f"^signature: expected 64 bytes, found {size}$") as caught:
        verify(a_registry(), "key-1", Kind.RECEIPT, RECEIPT, (SIGNATURE * 2)[:size])

    assert fault_of(caught) is Fault.WRONG_LENGTH


@pytest.mark.parametrize("signed", Kind)
@pytest.mark.parametrize("shown", Kind)
def test_a_signature_over_one_kind_is_none_over_another(signed: Kind, shown: Kind) -> None:
    registry = a_registry_of(PURPOSE_OF[shown])
    signature = SIGNER.sign(signed, RECEIPT)
    if signed is shown:
        verify(registry, "key-1", shown, RECEIPT, signature)
        return

    with pytest.raises(SignatureError) as caught:
        verify(registry, "key-1", shown, RECEIPT, signature)

    assert fault_of(caught) is Fault.BAD_SIGNATURE


def a_registry_of(*purposes: Purpose) -> KeyRegistry:
    key = RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE, frozenset(purposes))
    return KeyRegistry({"key-1": key})


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("purpose", Purpose)
def test_a_key_verifies_and_signs_for_its_purpose_alone(kind: Kind, purpose: Purpose) -> None:
    registry, signature = a_registry_of(purpose), SIGNER.sign(kind, RECEIPT)
    if PURPOSE_OF[kind] is purpose:
        check_may_sign(SIGNER, registry, kind, key_id="key-1")
        verify(registry, "key-1", kind, RECEIPT, signature)
        return

    with pytest.raises(SignatureError, match=f"another purpose: {purpose}, not ") as caught:
        check_may_sign(SIGNER, registry, kind, key_id="key-1")
    assert fault_of(caught) is Fault.OTHER_PURPOSE
    with pytest.raises(SignatureError, match=f"another purpose: {purpose}, not "):
        verify(registry, "key-1", kind, RECEIPT, signature)


def test_an_active_key_may_sign() -> None:
    check_may_sign(SIGNER, a_registry(), Kind.RECEIPT, key_id="key-1")


@pytest.mark.parametrize(
    ("status", "fault"), [(KeyStatus.RETIRED, Fault.NOT_ACTIVE), (KeyStatus.REVOKED, Fault.REVOKED)]
)
def test_only_an_active_key_signs(status: KeyStatus, fault: Fault) -> None:
    with pytest.raises(SignatureError) as caught:
        check_may_sign(SIGNER, a_registry(status), Kind.RECEIPT, key_id="key-1")

    assert fault_of(caught) is fault


def test_only_the_key_that_the_receipt_names_signs() -> None:
    other = Ed25519Signer("second", sha256(b"another seed"))
    registry = a_registry(second=RegisteredKey(other.public_key, KeyStatus.ACTIVE))

    with pytest.raises(
        SignatureError, match=r"^the receipt names key 'second', the signer holds 'key-1'$"
    ) as caught:
        check_may_sign(SIGNER, registry, Kind.RECEIPT, key_id="second")

    assert fault_of(caught) is Fault.OTHER_KEY


def test_a_signer_with_another_key_under_the_same_name_does_not_sign() -> None:
    impostor = Ed25519Signer("key-1", sha256(b"another seed"))

    with pytest.raises(
        SignatureError, match=f"the registry has public key {SIGNER.public_key.hex()}"
    ) as caught:
        check_may_sign(impostor, a_registry(), Kind.RECEIPT, key_id="key-1")

    assert fault_of(caught) is Fault.OTHER_KEY


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_seed_of_another_length_is_refused_without_showing_it(size: int) -> None:
    with pytest.raises(SignatureError, match=f"^seed: expected 32 bytes, found {size}$"):
        Ed25519Signer("key-1", (SEED * 2)[:size])


def test_a_signer_does_not_show_its_seed() -> None:
    shown = f"{SIGNER!r} {SIGNER} {SIGNER.__slots__}"

    assert SIGNER.public_key.hex() in shown
    assert SEED.hex() not in shown
    assert repr(SEED)[2:-1] not in shown
    assert not hasattr(SIGNER, "__dict__")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_signer_cannot_be_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        pickle.dumps(SIGNER, protocol)


def test_a_signer_cannot_be_copied() -> None:
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        copy.copy(SIGNER)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        copy.deepcopy([SIGNER])


def test_a_key_of_another_length_is_skipped() -> None:
    [fault] = a_registry(bad=RegisteredKey(bytes(31), KeyStatus.ACTIVE)).skipped

    assert fault.message == "key 'bad': public key: expected 32 bytes, found 31"


@pytest.mark.parametrize(
    ("purposes", "said"),
    [
        (set(), "a key has at least one purpose"),
        ({Purpose.STATUS, Purpose.PASSPORT}, "a key for status lists has no other purpose"),
        ({Purpose.STATUS, Purpose.CHECKPOINT}, "a key for status lists has no other purpose"),
    ],
)
def test_a_key_with_purposes_that_do_not_go_together_is_skipped(purposes: set[Purpose], said: str) -> None:
    [fault] = a_registry_of(*purposes).skipped

    assert (fault.fault, fault.message) == (Fault.OTHER_PURPOSE, f"key 'key-1': {said}")


@pytest.mark.parametrize(
    "case", [case for case in load("sign/refused")["cases"] if case["fault"].startswith("KEY_")]
)
def test_a_bad_key_is_skipped_and_reported_and_the_others_count(case: dict[str, Any]) -> None:
    registry = a_registry(bad=RegisteredKey(bytes.fromhex(case["public_key"]), KeyStatus.ACTIVE))

    verify(registry, "key-1", Kind.RECEIPT, RECEIPT, SIGNATURE)
    with pytest.raises(SignatureError, match=f"^key 'bad': public key {case['public_key']}: ") as caught:
        verify(registry, "bad", Kind.RECEIPT, RECEIPT, SIGNATURE)
    assert fault_of(caught) == case["fault"]
    assert [str(error) for error in registry.skipped] == [str(caught.value)]
    assert list(registry.keys) == ["key-1"]


def test_keys_made_from_seeds_are_good() -> None:
    for number in range(20):
        check_public_key(Ed25519Signer("key", sha256(bytes([number]))).public_key)


def test_a_registry_cannot_be_changed() -> None:
    keys = {"key-1": RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE)}
    registry = KeyRegistry(keys)
    keys.clear()

    assert list(registry.keys) == ["key-1"]
    with pytest.raises(TypeError):
        registry.keys["key-2"] = registry.keys["key-1"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        registry.keys = {}  # type: ignore[misc]


def test_a_status_that_comes_as_text_counts_and_an_unknown_one_is_refused() -> None:
    assert RegisteredKey(SIGNER.public_key, "REVOKED").status is KeyStatus.REVOKED  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'revoked' is not a valid KeyStatus"):
        RegisteredKey(SIGNER.public_key, "revoked")  # type: ignore[arg-type]


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(SignatureError(Fault.REVOKED, "no")))  # noqa: S301

    assert (error.fault, str(error)) == (Fault.REVOKED, "no")


@pytest.fixture
def openssl() -> str:
    found = shutil.which("openssl")
    if not found:
        pytest.skip("openssl is not installed")
    return found


def test_openssl_alone_verifies_the_raw_hash(openssl: str, tmp_path: Path) -> None:
    """The prefix is that of every Ed25519 key in SubjectPublicKeyInfo (RFC 8410)."""
    (tmp_path / "key.der").write_bytes(bytes.fromhex("302a300506032b6570032100") + SIGNER.public_key)
    (tmp_path / "signature").write_bytes(SIGNATURE)
    options = ["-rawin", "-pubin", "-keyform", "DER", "-inkey", "key.der", "-sigfile", "signature"]
    command = [openssl, "pkeyutl", "-verify", *options, "-in", "hash"]

    def answer(hashed: bytes) -> int:
        (tmp_path / "hash").write_bytes(hashed)
        return subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode

    assert answer(HASH) == 0
    assert answer(sha256(HASH)) == 1


EXAMPLE_KEY = bytes.fromhex(load("sign/example")["expected"]["public_key"])


def documented_answer(receipt: str, key: bytes, folder: Path) -> str:
    """What the command in the documentation says of a receipt, with the key in place of the example's."""
    block = re.search(r"```sh\n(.*?pkeyutl.*?)```", FORMATS.read_text(), re.DOTALL)
    assert block
    command = block[1].replace(b64encode(EXAMPLE_KEY).decode(), b64encode(key).decode())
    assert b64encode(key).decode() in command
    (folder / "receipt.json").write_text(receipt)
    done = subprocess.run(
        ["sh", "-eu", "-c", command], cwd=folder, check=False, capture_output=True, text=True
    )
    return done.stdout.strip()


def receipts() -> dict[str, tuple[str, bytes]]:
    """That of the documentation, and one that was compiled and signed here."""
    ours = Ed25519Signer("test-key", SEED)
    receipt = inputs("field a: Int = 5;", ()).compiled().receipt
    signature = ours.sign(Kind.RECEIPT, receipt_bytes(receipt))
    return {
        "documented": (load("receipt/example")["expected"]["signed"], EXAMPLE_KEY),
        "ours": (signed_receipt_bytes(receipt, signature).decode(), ours.public_key),
    }


@pytest.mark.parametrize(("receipt", "key"), receipts().values(), ids=receipts())
def test_the_command_in_the_documentation_verifies_a_receipt(
    openssl: str, tmp_path: Path, receipt: str, key: bytes
) -> None:
    assert openssl
    assert documented_answer(receipt, key, tmp_path) == "Signature Verified Successfully"
    for wrong in (receipt.replace("bpc-core-2", "bpc-core-3"), receipt.replace("-02-18", "-02-19")):
        assert documented_answer(wrong, key, tmp_path) == "Signature Verification Failure"
    assert documented_answer(receipt, SIGNER.public_key[::-1], tmp_path) != "Signature Verified Successfully"
