from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from bpc_worker.core.base.canonical_json import decode, encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import KeyRegistry, KeyStatus, RegisteredKey, SignatureError, verify
from bpc_worker.core.passport.receipt import (
    MAX_RECEIPT_BYTES,
    Receipt,
    ReceiptError,
    SignedReceipt,
    parse_receipt,
    parse_signed,
    passport_version_id,
    receipt_bytes,
    receipt_hash,
    signed_receipt_bytes,
)
from tests.vectors import load

EXAMPLE = load("receipt/example")
SIGNED = EXAMPLE["expected"]["signed"].encode()
PUBLIC_KEY = bytes.fromhex(load("sign/example")["expected"]["public_key"])
REGISTRY = KeyRegistry({"vectors-2027": RegisteredKey(PUBLIC_KEY, KeyStatus.ACTIVE)})

INPUTS: dict[str, Any] = {
    "tenant_id": UUID(int=1),
    "passport_id": UUID(int=2),
    "snapshot_id": UUID(int=3),
    "rule_package_version_id": UUID(int=4),
    "compiler_build_id": "bpc-core-2",
    "law_date": date(2027, 2, 18),
    "issued_at": datetime(2027, 3, 1, 9, 30, tzinfo=UTC),
}


def a_receipt(**changed: Any) -> Receipt:
    inputs = INPUTS | {name: value for name, value in changed.items() if name in INPUTS}
    hashes = (
        "snapshot_hash",
        "dsl_sha256",
        "tests_sha256",
        "payload_hash",
        "proof_root_hash",
        "fields_sha256",
    )
    others: dict[str, Any] = {
        "passport_version_id": passport_version_id(**inputs),
        "battery_product_id": UUID(int=5),
        "signing_key_id": "key-1",
        "unique_identifier": "https://id.example.com/p/0123456789ABCDEF",
        "issuer": "https://id.example.com",
        "status_list_uri": "https://id.example.com/status/0",
        "status_list_idx": 131071,
        "rules_name": "battery_core",
        "audiences": ("authorities", "public"),
        **{name: sha256(name.encode()) for name in hashes},
    }
    return Receipt(**inputs | others | changed)


def test_the_golden_receipt_gives_its_bytes_and_hash() -> None:
    receipt = parse_signed(SIGNED).receipt

    assert receipt_bytes(receipt).decode() == EXAMPLE["expected"]["canonical"]
    assert receipt_hash(receipt).hex() == EXAMPLE["expected"]["sha256"]


def verify_signed(data: bytes) -> None:
    signed = parse_signed(data)
    key_id, document = signed.receipt.signing_key_id, receipt_bytes(signed.receipt)
    verify(REGISTRY, key_id, Kind.RECEIPT, document, signed.signature)


def test_the_golden_signature_is_good() -> None:
    verify_signed(SIGNED)


def test_the_golden_passport_version_id_is_a_uuid_of_version_5_over_the_array() -> None:
    receipt = parse_signed(SIGNED).receipt
    named = decode(EXAMPLE["expected"]["passport_version_name"].encode())

    made = passport_version_id(**{name: getattr(receipt, name) for name in INPUTS})

    assert str(made) == EXAMPLE["expected"]["passport_version_id"]
    assert made.version == 5
    assert named == [EXAMPLE["input"][name] for name in INPUTS]


@pytest.mark.parametrize("case", load("receipt/refused")["cases"], ids=lambda case: case["place"])
def test_golden_bytes_that_are_wrong_are_refused_at_their_place(case: dict[str, Any]) -> None:
    with pytest.raises(ReceiptError) as caught:
        parse_signed(case["signed"].encode())

    assert caught.value.path == case["place"]


def test_the_members_are_those_of_the_contract() -> None:
    contract = """receipt_version issued_at tenant_id passport_version_id passport_id battery_product_id
        snapshot_id snapshot_hash rule_package_version_id dsl_sha256 tests_sha256 compiler_build_id
        payload_hash proof_root_hash fields_sha256 signature_alg signing_key_id law_date
        unique_identifier issuer status_list_uri status_list_idx rules_name audiences"""

    assert [each.name for each in fields(Receipt)] == contract.split()


def test_a_signed_receipt_is_read_as_it_was_written() -> None:
    signature = bytes(range(64))
    data = signed_receipt_bytes(a_receipt(), signature)

    assert parse_signed(data) == SignedReceipt(a_receipt(), signature)


def test_a_receipt_is_read_before_it_is_signed_too() -> None:
    assert parse_receipt(receipt_bytes(a_receipt())) == a_receipt()
    with pytest.raises(ReceiptError, match="unknown: 'signature'"):
        parse_receipt(signed_receipt_bytes(a_receipt(), bytes(64)))


def test_the_signature_is_the_only_addition() -> None:
    signed = decode(signed_receipt_bytes(a_receipt(), bytes(64)))

    assert isinstance(signed, dict)
    assert signed.pop("signature") == "A" * 86 + "=="
    assert encode(signed) == receipt_bytes(a_receipt())


def test_the_zone_of_the_moment_does_not_change_the_bytes() -> None:
    elsewhere = INPUTS["issued_at"].astimezone(timezone(timedelta(hours=9)))

    assert receipt_bytes(a_receipt(issued_at=elsewhere)) == receipt_bytes(a_receipt())


@pytest.mark.parametrize(
    "changed",
    [
        {"tenant_id": UUID(int=9)},
        {"passport_id": UUID(int=9)},
        {"snapshot_id": UUID(int=9)},
        {"rule_package_version_id": UUID(int=9)},
        {"compiler_build_id": "bpc-core-3"},
        {"law_date": date(2027, 2, 19)},
        {"issued_at": INPUTS["issued_at"] + timedelta(microseconds=1)},
    ],
)
def test_each_input_makes_another_passport_version(changed: dict[str, Any]) -> None:
    assert passport_version_id(**INPUTS | changed) != passport_version_id(**INPUTS)


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"snapshot_hash": bytes(31)}, "/snapshot_hash"),
        ({"signing_key_id": ""}, "/signing_key_id"),
        ({"signing_key_id": "a\0"}, "/signing_key_id"),
        ({"passport_version_id": UUID(int=9)}, "/passport_version_id"),
        ({"unique_identifier": ""}, "/unique_identifier"),
        ({"unique_identifier": "http://id.example.com/p/1"}, "/unique_identifier"),
        ({"unique_identifier": "https://id.example.com/"}, "/unique_identifier"),
        ({"unique_identifier": "https://id.example.com/p/1#2"}, "/unique_identifier"),
        ({"unique_identifier": "https://ID.example.com/p/1"}, "/unique_identifier"),
        ({"unique_identifier": "https://me@id.example.com/p/1"}, "/unique_identifier"),
        ({"unique_identifier": "https://id.example.com/p/ü"}, "/unique_identifier"),
        ({"issuer": "https://id.example.org"}, "/issuer"),
        ({"status_list_uri": "https://id.example.org/status/0"}, "/status_list_uri"),
        ({"status_list_uri": "https://id.example.com/status/"}, "/status_list_uri"),
        ({"status_list_idx": -1}, "/status_list_idx"),
        ({"audiences": ()}, "/audiences"),
        ({"audiences": ("public", "authorities")}, "/audiences"),
        ({"rules_name": ""}, "/rules_name"),
    ],
)
def test_an_ill_formed_receipt_cannot_be_made(changed: dict[str, Any], path: str) -> None:
    with pytest.raises(ReceiptError) as caught:
        a_receipt(**changed)

    assert caught.value.path == path


def test_a_moment_without_zone_makes_no_passport_version() -> None:
    with pytest.raises(ReceiptError, match=r"^/issued_at: expected a time stamp with a time zone"):
        passport_version_id(**INPUTS | {"issued_at": datetime(2027, 3, 1)})  # noqa: DTZ001 (that is the point)


def test_another_passport_version_id_is_refused_with_both() -> None:
    expected = a_receipt().passport_version_id

    with pytest.raises(ReceiptError, match=f"expected {expected}, found {UUID(int=9)}$"):
        replace(a_receipt(), passport_version_id=UUID(int=9))


@pytest.mark.parametrize("size", [0, 63, 65])
def test_a_signature_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(
        ReceiptError, match=f"^/signature: expected a signature of 64 bytes, found {size} bytes$"
    ):
        signed_receipt_bytes(a_receipt(), bytes(size))


def test_what_can_be_hashed_can_be_signed_within_the_limit() -> None:
    """A receipt that grows over the limit only with its signature is refused before it is signed."""
    fits = len(signed_receipt_bytes(a_receipt(), bytes(64)))

    assert receipt_hash(a_receipt(), max_bytes=fits)
    assert len(signed_receipt_bytes(a_receipt(), bytes(64), max_bytes=fits)) == fits
    for write in (
        partial(receipt_bytes, a_receipt()),
        partial(receipt_hash, a_receipt()),
        partial(signed_receipt_bytes, a_receipt(), bytes(64)),
    ):
        with pytest.raises(
            ReceiptError, match=f"^expected at most {fits - 1} bytes with the signature, found {fits}$"
        ):
            write(max_bytes=fits - 1)


def test_too_many_bytes_are_not_even_read() -> None:
    with pytest.raises(ReceiptError, match=f"expected at most {MAX_RECEIPT_BYTES} bytes"):
        parse_signed(b"[" * (MAX_RECEIPT_BYTES + 1))
    with pytest.raises(ReceiptError, match="expected at most 16384 bytes with the signature"):
        receipt_bytes(a_receipt(signing_key_id="k" * 16384))


@pytest.mark.unmeasured
def test_every_flipped_bit_of_a_signed_receipt_is_noticed() -> None:
    for bit in range(8 * len(SIGNED)):
        flipped = bytearray(SIGNED)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises((ReceiptError, SignatureError)):
            verify_signed(bytes(flipped))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff", b"{}", SIGNED[:-1], SIGNED + SIGNED])
def test_what_is_no_receipt_is_refused(data: bytes) -> None:
    with pytest.raises(ReceiptError):
        parse_signed(data)
