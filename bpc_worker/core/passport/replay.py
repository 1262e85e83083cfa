"""BPC-REPLAY-1: make a passport again from its inputs, and say whether and where it differs."""

from dataclasses import dataclass

from bpc_worker.core.base import signing
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.compile import (
    COMPILER_BUILD_ID,
    Compiled,
    CompileError,
    Identity,
    Sizes,
    compile_passport,
)
from bpc_worker.core.passport.receipt import Receipt, SignedReceipt, receipt_bytes, receipt_hash
from bpc_worker.core.passport.snapshot import SnapshotError, open_snapshot
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact


class ReplayMismatchError(Exception):
    """What was stored is not what its inputs give; `what` says which part."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"REPLAY_MISMATCH {what}: {message}")
        self.what = what
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was kept of a passport version, and what it was made from."""

    signed: SignedReceipt
    payload: bytes
    proof: bytes
    snapshot: bytes
    facts: tuple[Fact, ...]
    rules: TypedModule
    disclosure_seed: bytes


def replay(
    stored: Stored,
    registry: signing.KeyRegistry,
    *,
    limits: Limits | None = None,
    sizes: Sizes | None = None,
) -> Compiled:
    """The passport, made again; ReplayMismatchError at the first part that differs."""
    receipt = stored.signed.receipt
    if receipt.compiler_build_id != COMPILER_BUILD_ID:
        known = f"this release knows {COMPILER_BUILD_ID}; the changelog says which release knows others"
        raise ReplayMismatchError("build", f"made by {receipt.compiler_build_id}: {known}")
    _same("snapshot", sha256(stored.snapshot), receipt.snapshot_hash)
    _same("rules", sha256(stored.rules.source.encode()), receipt.dsl_sha256)
    made = _made(stored, limits, sizes)
    _same("payload", sha256(stored.payload), sha256(made.payload))
    _same("payload", receipt.payload_hash, made.receipt.payload_hash)
    _same("proof", sha256(stored.proof), sha256(made.proof))
    _same("proof", receipt.proof_root_hash, made.receipt.proof_root_hash)
    _same("disclosure", receipt.disclosure_root, made.receipt.disclosure_root)
    _same("receipt", receipt_hash(receipt), receipt_hash(made.receipt))
    try:
        signing.verify(
            registry, receipt.signing_key_id, Kind.RECEIPT, receipt_bytes(receipt), stored.signed.signature
        )
    except signing.SignatureError as error:
        raise ReplayMismatchError("signature", str(error)) from error
    return made


def _made(stored: Stored, limits: Limits | None, sizes: Sizes | None) -> Compiled:
    try:
        return compile_passport(
            open_snapshot(stored.snapshot, stored.signed.receipt.snapshot_hash),
            stored.facts,
            stored.rules,
            _identity(stored.signed.receipt),
            disclosure_seed=stored.disclosure_seed,
            limits=limits,
            sizes=sizes,
        )
    except SnapshotError as error:
        raise ReplayMismatchError("snapshot", str(error)) from error
    except RuleError as error:
        raise ReplayMismatchError("rules", str(error)) from error
    except CompileError as error:
        what = "facts" if error.code == "SNAPSHOT_NOT_READY" else "rules"
        raise ReplayMismatchError(what, str(error)) from error


def _identity(receipt: Receipt) -> Identity:
    return Identity(
        tenant_id=receipt.tenant_id,
        passport_id=receipt.passport_id,
        battery_product_id=receipt.battery_product_id,
        rule_package_version_id=receipt.rule_package_version_id,
        dsl_sha256=receipt.dsl_sha256,
        tests_sha256=receipt.tests_sha256,
        signing_key_id=receipt.signing_key_id,
        law_date=receipt.law_date,
        issued_at=receipt.issued_at,
        compiler_build_id=receipt.compiler_build_id,
    )


def _same(what: str, stored: bytes, made: bytes) -> None:
    if stored != made:
        raise ReplayMismatchError(what, f"stored {stored.hex()}, made again {made.hex()}")
