"""What comes into force is what SIGN_PASSPORT compared and signed: this very row, byte for byte."""

from collections.abc import Iterator
from datetime import timedelta
from typing import cast
from uuid import UUID

import pytest

from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.passport.receipt import parse_receipt
from bpc_worker.core.passport.view import claims
from bpc_worker.jobs.errors import Permanent
from bpc_worker.keys.keyring import DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED
from bpc_worker.pipeline.passports import activate
from bpc_worker.postgres.embedded.server import Server
from tests.support.forging import Forger, Row, unsigned_rows
from tests.support.signed import Signed, clone, signed_passport

pytestmark = pytest.mark.acceptance

VERSION = "UPDATE passport_versions SET"


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


def refused(signed: Signed, wanted: object) -> Permanent:
    with pytest.raises(Permanent) as error:
        signed.path.call(lambda pipeline: activate(pipeline, str(wanted)))
    assert not signed.db.run("SELECT FROM passport_versions WHERE status = 'ACTIVE'")
    return error.value


def signed_row(signed: Signed) -> Row:
    return signed.db.one("SELECT * FROM passport_versions WHERE passport_version_id = %s", [signed.version])


def put(signed: Signed, row: Row, signature: object, view_signature: object) -> None:
    """As a worker's login can: a row, and then a signature that it has from somewhere."""
    key = signed.db.one("SELECT public_key FROM signing_keys")["public_key"]
    unsigned = row | {"status": "COMPILING", "signature": None, "view_signature": None, "public_key": None}
    forger = Forger(signed.db)
    forger.insert("passport_versions", unsigned | {"qr_payload": None, "qr_png": None})
    forger.run(
        f"{VERSION} status = 'SIGNED', signature = %s, view_signature = %s, public_key = %s"
        " WHERE passport_version_id = %s",
        [signature, view_signature, key, row["passport_version_id"]],
    )


def test_what_was_signed_comes_into_force(signed: Signed) -> None:
    assert signed.path.call(lambda pipeline: activate(pipeline, str(signed.version))) == (
        signed.version,
        None,
    )


def test_a_signature_of_nothing_does_not_count(signed: Signed) -> None:
    row = signed_row(signed)
    other = row | {"passport_version_id": UUID(int=7), "issued_at": later(row)}
    put(signed, other, bytes(64), bytes(64))

    assert refused(signed, UUID(int=7)).code == "SIGNATURE_INVALID"


def later(row: Row) -> object:
    return cast("timedelta", row["issued_at"]) + timedelta(seconds=1)


def test_a_receipt_and_a_signature_of_another_version_do_not_count(signed: Signed) -> None:
    row = signed_row(signed)
    other = row | {"passport_version_id": UUID(int=7), "issued_at": later(row)}
    put(signed, other, row["signature"], row["view_signature"])

    error = refused(signed, UUID(int=7))
    assert (error.code, error.detail) == ("RECEIPT_MISMATCH", {"member": "passport_version_id"})


CHANGED = {
    "payload": "payload = set_byte(payload, 20, get_byte(payload, 20) # 1)",
    "proof": "proof = set_byte(proof, 20, get_byte(proof, 20) # 1)",
    "payload_hash": "payload_hash = sha256('other')",
    "proof_root_hash": "proof_root_hash = sha256('other')",
    "unique_identifier": "unique_identifier = unique_identifier || 'X'",
    "status_list_uri": "status_list = status_list + 1",
    "status_list_idx": "status_idx = (status_idx + 1) % 131072",
    "fields": "fields = fields || ' '::bytea",
    "disclosures": "disclosures = substring(disclosures from 1 for length(disclosures) - 1) || 'A'::bytea",
    "gaps": "gaps = convert_to(replace(convert_from(gaps, 'UTF8'), 'present', 'missing'), 'UTF8')",
    "law_date": "law_date = law_date + 1",
    "receipt": "receipt = receipt || ' '::bytea, receipt_hash = sha256(receipt)",
}


@pytest.mark.parametrize("member", CHANGED)
def test_a_row_that_was_changed_after_it_was_signed_is_refused(signed: Signed, member: str) -> None:
    signed.tamper(f"{VERSION} {CHANGED[member]}")

    error = refused(signed, signed.version)
    assert (error.code, error.detail) == ("RECEIPT_MISMATCH", {"member": member})


def test_a_signature_without_a_comparison_does_not_count(signed: Signed) -> None:
    """A row that its inputs give, under a good signature, of somebody who did not look."""
    build = UUID(str(signed.db.one("SELECT build_id FROM passport_builds")["build_id"]))
    [row] = unsigned_rows(signed.path, build, 1)
    key = Ed25519Signer(DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED)
    receipt, fields = cast("bytes", row["receipt"]), cast("bytes", row["fields"])
    view = claims(parse_receipt(receipt), fields)
    put(signed, row, key.sign(Kind.RECEIPT, receipt), key.sign(Kind.VIEW, view))

    error = refused(signed, row["passport_version_id"])
    assert (error.code, error.detail) == ("RECEIPT_MISMATCH", {"member": "receipt_hash"})
    assert "PASSPORT_SIGNED" in error.message


@pytest.mark.parametrize("column", ["signature", "view_signature"])
def test_a_changed_signature_is_refused(signed: Signed, column: str) -> None:
    signed.tamper(f"{VERSION} {column} = set_byte({column}, 20, get_byte({column}, 20) # 1)")

    assert refused(signed, signed.version).code == "SIGNATURE_INVALID"


@pytest.mark.parametrize(
    "changed",
    [
        "UPDATE events SET payload_text = '{}' WHERE event_type = 'PASSPORT_SIGNED'",
        "UPDATE events SET actor_id = 'user:somebody' WHERE event_type = 'PASSPORT_COMPILED'",
        "DELETE FROM events WHERE event_type = 'PASSPORT_QR_GENERATED'",
    ],
)
def test_a_chain_of_events_that_is_not_whole_proves_nothing(signed: Signed, changed: str) -> None:
    signed.tamper(changed)

    error = refused(signed, signed.version)
    assert (error.code, error.detail) == ("RECEIPT_MISMATCH", {"member": "receipt_hash"})
    assert "chain" in error.message
