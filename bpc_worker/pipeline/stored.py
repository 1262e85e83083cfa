"""A passport version as it is stored: read once, in one view, with all that it was made from."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json, signing
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.passport import bundle
from bpc_worker.core.passport.bundle import BundleError
from bpc_worker.core.passport.disclosures import from_lines
from bpc_worker.core.passport.receipt import parse_receipt
from bpc_worker.core.passport.view import assemble, claims, jws
from bpc_worker.domain.records import Fact
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.keys import registry as registry_of
from bpc_worker.pipeline.passports import ListedVersion, find_version
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of, one, value


class Row(ListedVersion, frozen=True, kw_only=True):
    """Columns as they are: whether they agree is for others to say."""

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
    sha256: bytes
    pointer: str

    @property
    def place(self) -> str:
        return f"{self.document} {self.pointer} (sha256 {self.sha256.hex()})"


@dataclass(frozen=True, slots=True)
class StoredVersion:
    row: Row
    facts: Sequence[StoredFact]
    sources: Sequence[Source]
    registry: signing.KeyRegistry
    superseded_by: str | None  # the id of the version that took its place

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

    def parts(self) -> dict[str, bytes]:
        """The parts of a bundle that has everything; BundleError for what is none."""
        parts = {
            bundle.RECEIPT: self.signed_receipt(),
            bundle.PAYLOAD: self.row.payload,
            bundle.PROOF: self.row.proof,
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


async def read_version(pipeline: PipelineSession, wanted: str) -> StoredVersion:
    """By its id; by the id of its passport, or by a serial number, the newest."""
    async with pipeline.reading() as tx:
        found = await find_version(pipeline, tx, wanted)
        tenant: dict[str, object] = {"tenant_id": pipeline.tenant_id}
        version = tenant | {"passport_version_id": found.passport_version_id}
        row = one(await tx.query("passports/read_stored", version), Row, "passport version")
        snapshot = tenant | {"snapshot_id": row.snapshot_id}
        facts = all_of(await tx.query("snapshots/stored_facts", snapshot), StoredFact)
        until = snapshot | {"until": row.created_at}
        sources = all_of(await tx.query("snapshots/sources", until), Source)
        # Ordered here: the database would do it by its own collation.
        return StoredVersion(
            row,
            sorted(facts, key=lambda each: (each.fact_type, each.fact_key)),
            sorted(sources, key=lambda each: (each.fact_type, each.fact_key, each.place)),
            await registry_of(pipeline, tx),
            await _superseded_by(tx, version | {"passport_id": row.passport_id}),
        )


async def _superseded_by(tx: Tx, version: Mapping[str, object]) -> str | None:
    rows = await tx.query("passports/superseded_by", version)
    return value(rows, str) if rows else None
