"""One record per table of the pipeline: its columns as every query reads them, the large ones left out.

A query that reads more of a table, or of others beside it, has a record of its own that begins with this one.
"""

from datetime import date, datetime
from uuid import UUID

import msgspec

from bpc_worker.core.base.signing import KeyStatus, Purpose
from bpc_worker.domain.states import (
    BuildStatus,
    DeliveryStatus,
    DocumentStatus,
    Granularity,
    PassportStatus,
    RulesStatus,
    SnapshotStatus,
)


class Operator(msgspec.Struct, frozen=True):
    """operators"""

    operator_id: UUID
    name: str
    address: dict[str, str]  # by language
    contact: str | None
    web: str | None
    identifiers: dict[str, str]  # by scheme


class Facility(msgspec.Struct, frozen=True):
    """facilities"""

    facility_id: UUID
    operator_id: UUID
    name: str
    address: dict[str, str]  # by language
    identifiers: dict[str, str]  # by scheme


class IdHost(msgspec.Struct, frozen=True):
    """id_hosts"""

    host: str
    created_at: datetime


class Product(msgspec.Struct, frozen=True):
    """battery_products"""

    battery_product_id: UUID
    identifier: str
    name: str
    model_identifier: str | None
    gtin: str | None  # fourteen digits
    commodity_code: str | None
    operator_id: UUID | None
    facility_id: UUID | None


class Passport(msgspec.Struct, frozen=True):
    """passports"""

    passport_id: UUID
    battery_product_id: UUID
    serial: str
    granularity: Granularity
    unique_identifier: str


class DocumentVersion(msgspec.Struct, frozen=True):
    """document_versions, each with the name of its document"""

    document_version_id: UUID
    document_id: UUID
    kind: str
    external_ref: str
    sha256: bytes
    mime_type: str
    number_format: str | None
    mapping: str | None  # JSON
    bytes: int
    status: DocumentStatus
    created_at: datetime


class Fact(msgspec.Struct, frozen=True):
    """facts"""

    fact_type: str
    fact_key: str
    canonical: bytes


class Snapshot(msgspec.Struct, frozen=True):
    """data_snapshots"""

    snapshot_id: UUID
    status: SnapshotStatus
    snapshot_hash: bytes | None
    created_at: datetime


class SnapshotBytes(Snapshot, frozen=True):
    """With what was sealed."""

    canonical: bytes | None


class RulesVersion(msgspec.Struct, frozen=True):
    """rule_package_versions, each with the name of its package"""

    rule_package_version_id: UUID
    name: str
    version: int
    status: RulesStatus
    dsl_sha256: bytes


class RulesText(RulesVersion, frozen=True):
    """What it takes to run them."""

    tests_sha256: bytes
    dsl: str


class SigningKey(msgspec.Struct, frozen=True):
    """signing_keys"""

    key_id: str
    public_key: bytes
    status: KeyStatus
    purposes: frozenset[Purpose]


class PassportVersion(msgspec.Struct, frozen=True, kw_only=True):
    """passport_versions"""

    passport_version_id: UUID
    passport_id: UUID
    status: PassportStatus
    law_date: date
    issued_at: datetime
    created_at: datetime
    payload_hash: bytes
    proof_root_hash: bytes
    receipt_hash: bytes
    signing_key_id: str
    signature: bytes | None
    qr_payload: str | None


class CompiledVersion(PassportVersion, frozen=True, kw_only=True):
    """With everything that was compiled; whether it is true, others say."""

    tenant_id: UUID
    snapshot_id: UUID
    rule_package_version_id: UUID
    compiler_build_id: str
    payload: bytes
    proof: bytes
    receipt: bytes
    unique_identifier: str
    status_list: int
    status_idx: int
    fields: bytes
    disclosures: bytes
    gaps: bytes
    disclosure_seed: bytes
    view_signature: bytes | None

    def __repr__(self) -> str:
        return f"CompiledVersion(passport_version_id={self.passport_version_id})"  # never the seed


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """passport_builds"""

    build_id: UUID
    tenant_id: UUID
    passport_id: UUID
    rule_package_version_id: UUID
    law_date: date
    state: BuildStatus
    snapshot_id: UUID | None
    passport_version_id: UUID | None


class Delivery(msgspec.Struct, frozen=True):
    """webhook_deliveries"""

    webhook_delivery_id: UUID
    webhook_endpoint_id: UUID
    event_id: UUID
    event_type: str
    status: DeliveryStatus
