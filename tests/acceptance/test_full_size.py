"""The generated installation behind the figures of pages is what it seems: signatures and chains hold."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bpc_worker.core.base.messages import Kind, message
from bpc_worker.core.base.signing import KeyRegistry, KeyStatus, RegisteredKey, verify_ed25519
from bpc_worker.core.passport.receipt import parse_receipt
from bpc_worker.core.passport.view import claims
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.postgres.embedded.server import Server
from tests.support import full_size
from tests.support.signed import Signed, signed_passport

SIZE = replace(full_size.SMALL, passports=100, events=1000)


@pytest.fixture(scope="module")
def filled(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as signed:
        full_size.fill(signed.db, SIZE, template=str(signed.version))
        yield signed


def test_all_states_types_and_causes_of_death_are_there(filled: Signed) -> None:
    told = filled.db.one(
        "SELECT count(*) AS jobs, count(DISTINCT status) AS states, count(DISTINCT type) AS types,"
        " count(DISTINCT queue) AS queues, count(DISTINCT fail_code) AS codes,"
        " count(DISTINCT fail_reason) > 500 AS varied, count(DISTINCT tenant_id) AS tenants FROM jobs"
    )

    assert int(str(told["jobs"])) >= SIZE.jobs
    assert (told["states"], told["queues"], told["varied"], told["tenants"]) == (6, 5, True, 5)
    assert told["types"] == 10
    assert int(str(told["codes"])) >= 12


def test_every_generated_receipt_and_view_is_signed(filled: Signed) -> None:
    rows = filled.db.run(
        "SELECT receipt, fields, signature, view_signature, public_key"
        " FROM passport_versions ORDER BY random() LIMIT 20"
    )

    for row in rows:
        stored, fields, signature, view_signature, key = map(_bytes, row.values())
        receipt = parse_receipt(stored)
        verify_ed25519(key, message(Kind.RECEIPT, stored, receipt.signing_key_id), signature)
        told = claims(receipt, fields)
        verify_ed25519(key, message(Kind.VIEW, told, receipt.signing_key_id), view_signature)


def test_every_generated_public_view_is_complete_for_everybody(filled: Signed) -> None:
    rows = filled.db.run("SELECT unique_identifier, view FROM public_passports ORDER BY random() LIMIT 20")
    key = filled.db.one("SELECT key_id, public_key FROM signing_keys")
    registry = KeyRegistry({str(key["key_id"]): RegisteredKey(_bytes(key["public_key"]), KeyStatus.ACTIVE)})

    for row in rows:
        identifier = str(row["unique_identifier"])
        shown = verify_view(str(row["view"]), registry, audience="public", unique_identifier=identifier)
        assert "public" in shown.complete


def test_the_audit_trail_holds(filled: Signed) -> None:
    report = filled.path.call(verify)

    assert report.events >= SIZE.events
    assert not report.findings


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes | memoryview)
    return bytes(value)
