"""Compile a passport version in a child process: what goes there, what comes back, what is made of it."""

from time import perf_counter
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.passport.compile import (
    CompileError,
    Evaluated,
    Identity,
    Sizes,
    evaluate_passport,
    receipt_of,
)
from bpc_worker.core.passport.receipt import Receipt, ReceiptError, receipt_bytes
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.snapshot import SnapshotError, open_snapshot
from bpc_worker.core.passport.view import claims
from bpc_worker.core.passport.view_text import ViewError
from bpc_worker.core.rules import facts
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact
from bpc_worker.domain import records
from bpc_worker.domain.checked_rules import checked_rules
from bpc_worker.domain.failures import failed_in
from bpc_worker.handler_api import Code, Permanent


class Request(msgspec.Struct, frozen=True):
    identity: Identity
    snapshot_id: UUID
    snapshot: bytes
    snapshot_hash: bytes
    facts: list[records.Fact]
    dsl: str
    disclosure_seed: bytes
    payload_bytes: int
    proof_bytes: int


class Response(msgspec.Struct, frozen=True):
    evaluated: Evaluated
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


def _compiled(request: Request, rules: TypedModule) -> Response:
    began = perf_counter()
    held = [_fact(each) for each in request.facts]
    try:
        made = evaluate_passport(
            open_snapshot(request.snapshot, request.snapshot_hash),
            held,
            rules,
            request.identity,
            salts=Salts(request.disclosure_seed),
            sizes=Sizes(payload=request.payload_bytes, proof=request.proof_bytes),
        )
    except RuleError as error:
        raise failed_in(request.dsl, rules, held, error) from error
    return Response(made, perf_counter() - began)


def receipt_over(request: Request, evaluated: Evaluated, *, max_bytes: int) -> tuple[Receipt, bytes]:
    """The receipt and its bytes, made outside the child; a view can be made of it too."""
    try:
        receipt = receipt_of(request.identity, request, evaluated)
        claims(receipt, evaluated.fields)
        return receipt, receipt_bytes(receipt, max_bytes=max_bytes)
    except (ReceiptError, ViewError) as error:
        raise Permanent(Code.RECEIPT_TOO_LARGE, str(error)) from error


def _fact(stored: records.Fact) -> Fact:
    payload = canonical_json.decode(stored.canonical)
    if not isinstance(payload, dict):
        raise SnapshotError("", f"fact {stored.fact_type} {stored.fact_key} is not an object")
    return facts.make_fact(stored.fact_type, stored.fact_key, payload)
