"""BPC-RECEIPT-2: what is signed: which snapshot, rules and build made which payload, proof and view."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from uuid import UUID, uuid5

from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import (
    SIGNATURE_SIZE,
    FormError,
    below,
    members,
    parse_constant,
    parse_count,
    parse_date,
    parse_hash,
    parse_signature,
    parse_text,
    parse_timestamp,
    parse_uuid,
    raised_as,
    read,
    shown,
    signature_text,
    texts_of,
    uuid_text,
)
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.disclosures import parse_names

RECEIPT_VERSION = "BPC-RECEIPT-2"
SIGNATURE_ALG = "ED25519"
PASSPORT_VERSION_NAMESPACE = UUID("bab0bf6b-76b4-5211-ad98-fa54de20165b")
MAX_RECEIPT_BYTES = 16384

_IDENTIFIER = re.compile(r"(?P<issuer>https://[a-z0-9.-]+(?::[0-9]{1,5})?)/(?:(?![?#])[!-~])+")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_SIGNATURE_MEMBER_SIZE = len(f'"signature":"{signature_text(bytes(SIGNATURE_SIZE))}",')


class ReceiptError(FormError):
    """Values that make no receipt, or bytes that are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The members of a receipt before it is signed; an ill-formed one cannot be made."""

    receipt_version: str = field(default=RECEIPT_VERSION, init=False)
    issued_at: datetime
    tenant_id: UUID
    passport_version_id: UUID
    passport_id: UUID
    battery_product_id: UUID
    snapshot_id: UUID
    snapshot_hash: bytes
    rule_package_version_id: UUID
    dsl_sha256: bytes
    tests_sha256: bytes
    compiler_build_id: str
    payload_hash: bytes
    proof_root_hash: bytes
    fields_sha256: bytes
    signature_alg: str = field(default=SIGNATURE_ALG, init=False)
    signing_key_id: str
    law_date: date
    unique_identifier: str
    issuer: str
    status_list_uri: str
    status_list_idx: int
    rules_name: str
    audiences: tuple[str, ...]

    def __post_init__(self) -> None:
        with raised_as(ReceiptError):
            encode(_members(self))
            below("unique_identifier", issuer_of, self.unique_identifier)
            below("issuer", parse_constant(issuer_of(self.unique_identifier)), self.issuer)
            below("status_list_uri", status_list_of(self.issuer), self.status_list_uri)
            below("status_list_idx", parse_count, self.status_list_idx)
            below("audiences", parse_names, [*self.audiences])
        expected = passport_version_id(
            tenant_id=self.tenant_id,
            passport_id=self.passport_id,
            snapshot_id=self.snapshot_id,
            rule_package_version_id=self.rule_package_version_id,
            compiler_build_id=self.compiler_build_id,
            law_date=self.law_date,
            issued_at=self.issued_at,
        )
        if self.passport_version_id != expected:
            found = uuid_text(self.passport_version_id)
            raise ReceiptError("/passport_version_id", f"expected {uuid_text(expected)}, found {found}")


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """A receipt and a signature of the right length; whether it is good, `signing.verify` says."""

    receipt: Receipt
    signature: bytes


@raised_as(ReceiptError)
def passport_version_id(
    *,
    tenant_id: UUID,
    passport_id: UUID,
    snapshot_id: UUID,
    rule_package_version_id: UUID,
    compiler_build_id: str,
    law_date: date,
    issued_at: datetime,
) -> UUID:
    """The same inputs are the same passport version, so that a retry makes the same bytes."""
    named = texts_of(
        {
            "tenant_id": tenant_id,
            "passport_id": passport_id,
            "snapshot_id": snapshot_id,
            "rule_package_version_id": rule_package_version_id,
            "compiler_build_id": compiler_build_id,
            "law_date": law_date,
            "issued_at": issued_at,
        }
    )
    return uuid5(PASSPORT_VERSION_NAMESPACE, encode(list(named.values())).decode())


def receipt_bytes(receipt: Receipt, *, max_bytes: int = MAX_RECEIPT_BYTES) -> bytes:
    """The canonical bytes without signature; refused if they would be too many once it is added."""
    data = encode(_members(receipt))
    _check_size(len(data) + _SIGNATURE_MEMBER_SIZE, max_bytes)
    return data


def receipt_hash(receipt: Receipt, *, max_bytes: int = MAX_RECEIPT_BYTES) -> bytes:
    """What is signed, as 32 raw bytes."""
    return sha256(receipt_bytes(receipt, max_bytes=max_bytes))


def signed_receipt_bytes(receipt: Receipt, signature: bytes, *, max_bytes: int = MAX_RECEIPT_BYTES) -> bytes:
    """The canonical bytes with the signature, as they are stored and handed out."""
    with raised_as(ReceiptError):
        data = encode(_members(receipt) | {"signature": below("signature", signature_text, signature)})
    _check_size(len(data), max_bytes)
    return data


@raised_as(ReceiptError)
def parse_signed(data: bytes, *, max_bytes: int = MAX_RECEIPT_BYTES) -> SignedReceipt:
    """The receipt and the signature in these bytes, which have exactly the members of the format."""
    _check_size(len(data), max_bytes)
    found = members(decode(data), (*(each.name for each in fields(Receipt)), "signature"))
    return SignedReceipt(_receipt(found), read(found, "signature", parse_signature))


@raised_as(ReceiptError)
def parse_receipt(data: bytes) -> Receipt:
    """The receipt in these bytes, before it is signed."""
    return _receipt(members(decode(data), [each.name for each in fields(Receipt)]))


def _receipt(found: Mapping[str, object]) -> Receipt:
    read(found, "receipt_version", parse_constant(RECEIPT_VERSION))
    read(found, "signature_alg", parse_constant(SIGNATURE_ALG))
    return Receipt(
        issued_at=read(found, "issued_at", parse_timestamp),
        tenant_id=read(found, "tenant_id", parse_uuid),
        passport_version_id=read(found, "passport_version_id", parse_uuid),
        passport_id=read(found, "passport_id", parse_uuid),
        battery_product_id=read(found, "battery_product_id", parse_uuid),
        snapshot_id=read(found, "snapshot_id", parse_uuid),
        snapshot_hash=read(found, "snapshot_hash", parse_hash),
        rule_package_version_id=read(found, "rule_package_version_id", parse_uuid),
        dsl_sha256=read(found, "dsl_sha256", parse_hash),
        tests_sha256=read(found, "tests_sha256", parse_hash),
        compiler_build_id=read(found, "compiler_build_id", parse_text),
        payload_hash=read(found, "payload_hash", parse_hash),
        proof_root_hash=read(found, "proof_root_hash", parse_hash),
        fields_sha256=read(found, "fields_sha256", parse_hash),
        signing_key_id=read(found, "signing_key_id", parse_text),
        law_date=read(found, "law_date", parse_date),
        unique_identifier=read(found, "unique_identifier", parse_text),
        issuer=read(found, "issuer", parse_text),
        status_list_uri=read(found, "status_list_uri", parse_text),
        status_list_idx=read(found, "status_list_idx", parse_count),
        rules_name=read(found, "rules_name", parse_text),
        audiences=read(found, "audiences", parse_names),
    )


def issuer_of(unique_identifier: object) -> str:
    """Who vouches for a battery: the host of its identifier."""
    found = _IDENTIFIER.fullmatch(parse_text(unique_identifier))
    if found is None:
        raise FormError(
            "", f"expected https://host/path without query or fragment, found {shown(unique_identifier)}"
        )
    return found["issuer"]


def status_list_uri(issuer: str, number: int) -> str:
    return f"{issuer}/status/{number}"


def status_list_of(issuer: str) -> Callable[[object], int]:
    """A reader of the address of one of this issuer's status lists: its number."""

    def parse(uri: object) -> int:
        before, _, number = parse_text(uri).rpartition("/status/")
        if before != issuer or not _NUMBER.fullmatch(number):
            raise FormError("", f"expected {issuer}/status/<number>, found {shown(uri)}")
        return int(number)

    return parse


def _members(receipt: Receipt) -> dict[str, JsonValue]:
    found = {each.name: getattr(receipt, each.name) for each in fields(receipt)}
    idx, audiences = found.pop("status_list_idx"), found.pop("audiences")
    return texts_of(found) | {"status_list_idx": idx, "audiences": list(audiences)}


def _check_size(found: int, limit: int) -> None:
    if found > limit:
        raise ReceiptError("", f"expected at most {limit} bytes with the signature, found {found}")
