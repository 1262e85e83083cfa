"""A passport version as it is stored: read once, in one view, with all that it was made from."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json, signing
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.passport import bundle
from bpc_worker.core.passport.bundle import BundleError
from bpc_worker.core.passport.disclosures import from_lines
from bpc_worker.core.passport.receipt import parse_receipt
from bpc_worker.core.passport.view import assemble, claims, jws
from bpc_worker.core.proof.whole import written_out
from bpc_worker.domain.records import Fact, PassportVersion, SigningKey
from bpc_worker.domain.signing import key_registry
from bpc_worker.domain.states import Granularity
from bpc_worker.handler_api import Code, Permanent, Reading
from bpc_worker.rows import all_of, one, value


class Row(PassportVersion, frozen=True, kw_only=True):
    """Columns as they are: whether they agree is for others to say."""

    serial: str
    product: str
    granularity: Granularity
    status_since: datetime
    tenant_id: UUID
    battery_product_id: UUID
    snapshot_id: UUID
    rule_package_version_id: UUID
    compiler_build_id: str
    payload: bytes
    proof: bytes
    receipt: bytes
    unique_identifier: str
    passport_identifier: str
    status_list: int
    status_idx: int
    fields: bytes
    disclosures: bytes
    gaps: bytes
    disclosure_seed: bytes
    view_signature: bytes | None
    public_key: bytes | None
    qr_png: bytes | None
    snapshot: bytes | None
    snapshot_hash: bytes | None
    dsl: str
    dsl_sha256: bytes
    tests_sha256: bytes
    rules_name: str

    def __repr__(self) -> str:
        return f"Row(passport_version_id={self.passport_version_id})"  # never the seed of the salts


class StoredFact(Fact, frozen=True):
    payload_hash: bytes
    payload: object


class Source(msgspec.Struct, frozen=True):
    """Where a fact was found."""

    fact_type: str
    fact_key: str
    document: str
    document_version_id: UUID
    sha256: bytes
    pointer: str

    @property
    def place(self) -> str:
        return f"{self.document} {self.pointer} (sha256 {self.sha256.hex()})"


class StoredVersion(msgspec.Struct, frozen=True):
    row: Row
    facts: list[StoredFact]
    sources: list[Source]
    keys: list[SigningKey]
    superseded_by: str | None = None  # the id of the version that took its place

    @property
    def registry(self) -> signing.KeyRegistry:
        """The tenant's."""
        return key_registry(self.keys)

    def without_secrets(self) -> "StoredVersion":
        """For a child: without the seed of the salts, and each fact once."""
        return StoredVersion(
            row=msgspec.structs.replace(self.row, disclosure_seed=b""),
            facts=[msgspec.structs.replace(fact, payload=None) for fact in self.facts],
            sources=self.sources,
            keys=self.keys,
        )

    def signed_receipt(self) -> bytes:
        """receipt.json: the stored receipt with the stored signature in it."""
        receipt = _decoded(bundle.RECEIPT, self.row.receipt)
        if not isinstance(receipt, dict) or "signature" in receipt:
            raise BundleError(bundle.RECEIPT, "what is stored is no receipt without signature")
        if self.row.signature is None:
            raise Permanent(Code.VALIDATION_ERROR, "the passport version is not signed yet")
        signature = b64encode(self.row.signature).decode("ascii")
        return canonical_json.encode(receipt | {"signature": signature})

    def view(self) -> str:
        """view.sd-jwt: the stored claims with their signature, and all disclosures."""
        if self.row.view_signature is None:
            raise Permanent(Code.VALIDATION_ERROR, "the passport version is not signed yet")
        try:
            signed = claims(parse_receipt(self.row.receipt), self.row.fields)
        except ValueError as error:
            raise BundleError(bundle.VIEW, str(error)) from error
        return assemble(
            jws(signed, self.row.signing_key_id, self.row.view_signature), from_lines(self.row.disclosures)
        )

    def facts_json(self) -> bytes:
        """facts.json, in order of type and key."""
        return canonical_json.encode(
            [
                {
                    "fact_type": fact.fact_type,
                    "fact_key": fact.fact_key,
                    "payload": _decoded(bundle.FACTS, fact.canonical),
                }
                for fact in self.facts
            ]
        )

    def _proof(self) -> bytes:
        """proof.json: every step with its number and hash, for programs that are not ours."""
        try:
            return written_out(self.row.proof)
        except ValueError as error:
            raise BundleError(bundle.PROOF, str(error)) from error

    def parts(self) -> dict[str, bytes]:
        """The parts of a bundle that has everything; BundleError for what is none."""
        parts = {
            bundle.RECEIPT: self.signed_receipt(),
            bundle.PAYLOAD: self.row.payload,
            bundle.PROOF: self._proof(),
            bundle.SNAPSHOT: self.row.snapshot or b"",
            bundle.FACTS: self.facts_json(),
            bundle.RULES: self.row.dsl.encode(),
            bundle.VIEW: self.view().encode(),
        }
        if self.row.qr_payload is not None:
            parts[bundle.QR_TEXT] = self.row.qr_payload.encode()
        return parts

    def places(self) -> dict[tuple[str, str], list[str]]:
        """Where each fact was found, in words, by type and key."""
        found: dict[tuple[str, str], list[str]] = {}
        for source in self.sources:
            found.setdefault((source.fact_type, source.fact_key), []).append(source.place)
        return found

    def published(self) -> Mapping[str, object]:
        """The stored payload, not checked."""
        payload = _decoded(bundle.PAYLOAD, self.row.payload)
        return payload if isinstance(payload, dict) else {}


def _decoded(part: str, data: bytes) -> object:
    try:
        return canonical_json.decode(data)
    except CanonicalJsonError as error:
        raise BundleError(part, str(error)) from error


async def read_stored(tx: Reading, tenant_id: UUID, passport_version_id: UUID) -> StoredVersion:
    tenant: dict[str, object] = {"tenant_id": tenant_id}
    version = tenant | {"passport_version_id": passport_version_id}
    row = one(await tx.query("passports/read_stored", version), Row, "passport version")
    snapshot = tenant | {"snapshot_id": row.snapshot_id}
    facts = all_of(await tx.query("snapshots/stored_facts", snapshot), StoredFact)
    until = snapshot | {"until": row.created_at}
    sources = all_of(await tx.query("snapshots/sources", until), Source)
    # Ordered here: the database would do it by its own collation.
    return StoredVersion(
        row=row,
        facts=sorted(facts, key=lambda each: (each.fact_type, each.fact_key)),
        sources=sorted(sources, key=lambda each: (each.fact_type, each.fact_key, each.place)),
        keys=all_of(await tx.query("keys/registry", tenant), SigningKey),
        superseded_by=await _superseded_by(tx, version | {"passport_id": row.passport_id}),
    )


async def _superseded_by(tx: Reading, version: Mapping[str, object]) -> str | None:
    rows = await tx.query("passports/superseded_by", version)
    return value(rows, str) if rows else None
