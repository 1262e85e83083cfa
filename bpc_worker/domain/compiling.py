"""Compile a passport version in a child process: what goes there, and what comes back."""

from time import perf_counter
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.passport.compile import CompileError, Identity, Sizes, compile_passport
from bpc_worker.core.passport.receipt import ReceiptError, receipt_bytes
from bpc_worker.core.passport.snapshot import SnapshotError, open_snapshot
from bpc_worker.core.rules import facts
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact
from bpc_worker.domain import records
from bpc_worker.domain.checked_rules import checked_rules
from bpc_worker.handler_api import Code, Permanent


class Request(msgspec.Struct, frozen=True):
    identity: Identity
    snapshot: bytes
    snapshot_hash: bytes
    facts: list[records.Fact]
    dsl: str
    disclosure_seed: bytes
    payload_bytes: int
    proof_bytes: int
    receipt_bytes: int


class Response(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    payload: bytes
    proof: bytes
    receipt: bytes
    payload_hash: bytes
    proof_root_hash: bytes
    disclosure_root: bytes
    seconds: float  # how long it took


def compile_in_child(request: Request) -> Response:
    try:
        return _compiled(request, checked_rules(request.dsl))
    except RuleError as error:
        raise Permanent(error.code, render(request.dsl, error)) from error
    except CompileError as error:
        raise Permanent(error.code, error.message) from error
    except SnapshotError as error:
        raise Permanent(Code.SNAPSHOT_NOT_READY, str(error)) from error
    except ReceiptError as error:
        raise Permanent(Code.RECEIPT_TOO_LARGE, str(error)) from error


def _compiled(request: Request, rules: TypedModule) -> Response:
    began = perf_counter()
    made = compile_passport(
        open_snapshot(request.snapshot, request.snapshot_hash),
        map(_fact, request.facts),
        rules,
        request.identity,
        disclosure_seed=request.disclosure_seed,
        sizes=Sizes(payload=request.payload_bytes, proof=request.proof_bytes),
    )
    return Response(
        passport_version_id=made.receipt.passport_version_id,
        payload=made.payload,
        proof=made.proof,
        receipt=receipt_bytes(made.receipt, max_bytes=request.receipt_bytes),
        payload_hash=made.receipt.payload_hash,
        proof_root_hash=made.receipt.proof_root_hash,
        disclosure_root=made.receipt.disclosure_root,
        seconds=perf_counter() - began,
    )


def _fact(stored: records.Fact) -> Fact:
    payload = canonical_json.decode(stored.canonical)
    if not isinstance(payload, dict):
        raise SnapshotError("", f"fact {stored.fact_type} {stored.fact_key} is not an object")
    return facts.make_fact(stored.fact_type, stored.fact_key, payload)
