"""BPC-REPLAY-1: make a passport again from its inputs, and say whether and where it differs."""

from collections.abc import Iterable

from bpc_worker.core import signing
from bpc_worker.core.compile import Compiled, Identity, compile_passport
from bpc_worker.core.hashing import sha256
from bpc_worker.core.receipt import SignedReceipt, receipt_hash
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact
from bpc_worker.core.snapshot import open_snapshot


class ReplayMismatchError(Exception):
    """What was stored is not what its inputs give; `what` says which part."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"REPLAY_MISMATCH {what}: {message}")
        self.what = what
        self.message = message


def replay(
    signed: SignedReceipt,
    *,
    snapshot_bytes: bytes,
    facts: Iterable[Fact],
    rules: TypedModule,
    payload: bytes,
    registry: signing.KeyRegistry,
    disclosure_seed: bytes,
) -> Compiled:
    """The passport, made again; ReplayMismatchError at the first part that differs."""
    receipt = signed.receipt
    _same("snapshot", sha256(snapshot_bytes), receipt.snapshot_hash)
    _same("rules", sha256(rules.source.encode()), receipt.dsl_sha256)
    snapshot = open_snapshot(snapshot_bytes, receipt.snapshot_hash)
    identity = Identity(
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
    made = compile_passport(snapshot, facts, rules, identity, disclosure_seed=disclosure_seed)
    _same("payload", sha256(payload), sha256(made.payload))
    _same("payload", receipt.payload_hash, made.receipt.payload_hash)
    _same("proof", receipt.proof_root_hash, made.receipt.proof_root_hash)
    _same("disclosure", receipt.disclosure_root, made.receipt.disclosure_root)
    _same("receipt", receipt_hash(receipt), receipt_hash(made.receipt))
    try:
        signing.verify(registry, receipt.signing_key_id, receipt_hash(receipt), signed.signature)
    except signing.SignatureError as error:
        raise ReplayMismatchError("signature", str(error)) from error
    return made


def _same(what: str, stored: bytes, made: bytes) -> None:
    if stored != made:
        raise ReplayMismatchError(what, f"stored {stored.hex()}, made again {made.hex()}")
