"""Whether a stored passport version is what its inputs give, part by part: BPC-REPLAY-1 over the database.

Triggers keep whoever uses the database from changing what was compiled; this finds what a superuser changed.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.bundle import BundleError
from bpc_worker.core.passport.compile import Sizes
from bpc_worker.core.passport.receipt import (
    Receipt,
    ReceiptError,
    SignedReceipt,
    parse_signed,
    status_list_uri,
)
from bpc_worker.core.passport.replay import ReplayMismatchError, Stored, replay
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact
from bpc_worker.domain.bundling import check_code
from bpc_worker.domain.signed_versions import COLUMNS
from bpc_worker.domain.states import PassportStatus
from bpc_worker.domain.stored import Row, StoredFact, StoredVersion
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.passports import list_versions
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.stored import read_version

# Limits are for what comes in: what was compiled once is replayed whatever they are today.
_SIZES = Sizes(payload=2**40, proof=2**40)

_PARTS = {"payload_hash": "payload", "proof_root_hash": "proof"}  # columns of parts of their own

_rules = lru_cache(maxsize=16)(load)  # versions of one tenant share a few texts


@dataclass(frozen=True, slots=True)
class Replayed:
    """How the replay of one version ended; without a part it was made again, byte for byte."""

    passport_version_id: UUID
    part: str | None = None
    message: str = ""


async def replay_version(pipeline: PipelineSession, wanted: str) -> Replayed:
    """By its id; by the id of its passport, or by a serial number, the newest. It has to be signed."""
    return _replayed(await read_version(pipeline, wanted))


async def replay_all(pipeline: PipelineSession) -> AsyncIterator[Replayed]:
    """Every version of the tenant that is signed, oldest first."""
    for listed in reversed(await list_versions(pipeline)):
        if listed.status != PassportStatus.COMPILING:
            yield await replay_version(pipeline, str(listed.passport_version_id))


def _replayed(version: StoredVersion) -> Replayed:
    row = version.row
    if row.signature is None:
        raise Permanent(Code.VALIDATION_ERROR, f"the passport version is {row.status}: not signed yet")
    try:
        signed = _signed(version)
        _check_columns(row, signed.receipt)
        _check_rules(row, signed.receipt)
        stored = Stored(
            signed=signed,
            payload=row.payload,
            proof=row.proof,
            snapshot=_snapshot(row),
            facts=tuple(map(_fact, version.facts)),
            rules=_module(row.dsl),
            view=_view(version),
            salts=Salts(row.disclosure_seed),
        )
        made = replay(stored, version.registry, sizes=_SIZES)
        _same("gaps", "sha256 of the gap report", sha256(row.gaps), sha256(made.gaps))
        _check_key(version)
        check_code(row)
    except ReplayMismatchError as error:
        return Replayed(row.passport_version_id, error.what, error.message)
    return Replayed(row.passport_version_id)


def _signed(version: StoredVersion) -> SignedReceipt:
    try:
        signed = parse_signed(version.signed_receipt())
    except (ReceiptError, BundleError) as error:
        raise ReplayMismatchError("receipt", str(error)) from error
    _same("receipt", "receipt_hash", sha256(version.row.receipt), version.row.receipt_hash)
    return signed


def _view(version: StoredVersion) -> str:
    try:
        return version.view()
    except BundleError as error:
        raise ReplayMismatchError("view", error.message) from error


def _check_columns(row: Row, receipt: Receipt) -> None:
    """What the row says beside its receipt is what the receipt says."""
    for name in (*COLUMNS, "battery_product_id", "rules_name"):
        _same(_PARTS.get(name, "receipt"), name, getattr(row, name), getattr(receipt, name))
    _same("receipt", "unique_identifier of the passport", row.passport_identifier, receipt.unique_identifier)
    _same("receipt", "status_idx", row.status_idx, receipt.status_list_idx)
    uri = status_list_uri(receipt.issuer, row.status_list)
    _same("receipt", "status_list", uri, receipt.status_list_uri)
    _same("view", "sha256 of fields", sha256(row.fields), receipt.fields_sha256)
    _same("snapshot", "snapshot_hash", row.snapshot_hash, receipt.snapshot_hash)


def _check_rules(row: Row, receipt: Receipt) -> None:
    _same("rules", "sha256 of the rules", sha256(row.dsl.encode()), receipt.dsl_sha256)
    _same("rules", "sha256 of their tests", sha256(text_of_tests(row.dsl).encode()), receipt.tests_sha256)
    _same("rules", "dsl_sha256", row.dsl_sha256, receipt.dsl_sha256)
    _same("rules", "tests_sha256", row.tests_sha256, receipt.tests_sha256)


def _module(source: str) -> TypedModule:
    try:
        return _rules(source)
    except RuleError as error:  # accepted once, by a release that read it otherwise
        raise ReplayMismatchError("rules", str(error)) from error


def _snapshot(row: Row) -> bytes:
    if row.snapshot is None:
        raise ReplayMismatchError("snapshot", "it is not sealed")
    return row.snapshot


def _fact(stored: StoredFact) -> Fact:
    """From its canonical bytes; the copies of it, for queries, say the same."""
    name = f"{stored.fact_type} {stored.fact_key}"
    try:
        payload = canonical_json.decode(stored.canonical)
        if not isinstance(payload, dict):
            raise ReplayMismatchError("facts", f"{name} is no object")
        fact = make_fact(stored.fact_type, stored.fact_key, payload)
        copy = canonical_json.encode(stored.payload)
    except CanonicalJsonError as error:
        raise ReplayMismatchError("facts", f"{name}: {error}") from error
    _same("facts", f"payload_hash of {name}", stored.payload_hash, bytes.fromhex(fact.payload_hash))
    _same("facts", f"payload of {name}: sha256", sha256(copy), sha256(stored.canonical))
    return fact


def _check_key(version: StoredVersion) -> None:
    # The key has just verified the signature.
    registered = version.registry.key(version.row.signing_key_id, Kind.RECEIPT)
    _same("signature", "public_key", version.row.public_key, registered.public_key)


def _same(part: str, what: str, stored: object, expected: object) -> None:
    if stored != expected:
        raise ReplayMismatchError(part, f"{what}: stored {_shown(stored)}, expected {_shown(expected)}")


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
