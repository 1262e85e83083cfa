"""Many passports in the likeness of one that was really made.

Each has an identifier, a receipt and a signed view of its own, which hold; the disclosures of the view are
those of the one. The private bytes that no list reads are short.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast
from uuid import UUID, uuid5

from psycopg import Connection

from bpc_worker.core.base.gs1 import check_digit
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.passport.receipt import (
    Receipt,
    parse_receipt,
    passport_version_id,
    receipt_bytes,
    status_list_uri,
)
from bpc_worker.core.passport.view import claims, jws
from bpc_worker.core.passport.view_text import END
from bpc_worker.keys.keyring import DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED
from tests.support.database import Database
from tests.support.full_size.statements import read

_NAMES = UUID("5a164345-d300-4000-8000-000000000000")
_PRODUCTS = 200
_PAYLOAD = b'{"generated":true}'

_PASSPORT_COLUMNS = (
    "passport_id",
    "tenant_id",
    "battery_product_id",
    "serial",
    "granularity",
    "unique_identifier",
    "created_at",
)
_VERSION_COLUMNS = (
    "passport_version_id", "tenant_id", "passport_id", "snapshot_id", "rule_package_version_id",
    "compiler_build_id", "law_date", "issued_at", "status", "payload", "proof", "receipt", "payload_hash",
    "proof_root_hash", "unique_identifier", "status_list", "status_idx", "fields", "disclosures",
    "receipt_hash", "disclosure_seed", "signing_key_id", "signature", "view_signature", "public_key", "gaps",
    "created_at",
)  # fmt: skip

_PUBLIC_COLUMNS = (
    "passport_version_id", "tenant_id", "passport_id", "unique_identifier", "host", "granularity", "product",
    "status", "issued_at", "law_date", "activated_at", "revoked_at", "view",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """One generated passport with its version."""

    number: int
    receipt: Receipt
    serial: str

    @property
    def status(self) -> str:
        """Of twenty one is revoked and one not yet in force."""
        return {7: "REVOKED", 13: "SIGNED"}.get(self.number % 20, "ACTIVE")


def gtin(number: int) -> str:
    digits = f"0401234{number:06}"
    return digits + check_digit(digits)


def serial(number: int) -> str:
    return f"GEN{number * 7919 % 1_000_003:07}"


def identifier(host: str, number: int) -> str:
    return f"https://{host}/01/{gtin(number % _PRODUCTS)}/21/{serial(number)}"


def fill(db: Database, count: int, template: str) -> None:
    found = db.one(read("template"), [template])
    receipt, fields = parse_receipt(_bytes(found, "receipt")), _bytes(found, "fields")
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        params = {"tenant_id": receipt.tenant_id, "count": _PRODUCTS, "gtins": [*map(gtin, range(_PRODUCTS))]}
        connection.execute(read("products").encode(), params)
        listed = connection.execute(read("status_list").encode(), [receipt.issuer]).fetchone()
        assert listed is not None
        first_list = int(str(listed["status_list"]))
        batteries = [*made(receipt, count, first_list)]
        _copy(connection, "passports", _PASSPORT_COLUMNS, map(_passport, batteries))
        signed = _Signed(fields, first_list, str(found["view"]))
        _copy(connection, "passport_versions", _VERSION_COLUMNS, map(signed.version, batteries))
        connection.execute(read("status_places").encode(), [first_list])
        _copy(connection, "public_passports", _PUBLIC_COLUMNS, map(signed.public_row, batteries))
        connection.execute(read("public_models").encode(), [receipt.issuer.removeprefix("https://")])
        connection.execute(read("builds").encode(), {})
        connection.execute(read("snapshots").encode(), params | {"count": count})
        connection.execute(read("documents").encode(), params | {"count": count // 10})


def made(template: Receipt, count: int, status_list: int) -> Iterator[Made]:
    host = template.issuer.removeprefix("https://")
    for number in range(count):
        passport = uuid5(_NAMES, f"passport {number}")
        issued_at = template.issued_at - timedelta(seconds=count - number)
        version = passport_version_id(
            tenant_id=template.tenant_id,
            passport_id=passport,
            snapshot_id=template.snapshot_id,
            rule_package_version_id=template.rule_package_version_id,
            compiler_build_id=template.compiler_build_id,
            law_date=template.law_date,
            issued_at=issued_at,
        )
        own = replace(
            template,
            passport_id=passport,
            passport_version_id=version,
            battery_product_id=_product(number),
            issued_at=issued_at,
            payload_hash=sha256(_PAYLOAD),
            unique_identifier=identifier(host, number),
            status_list_uri=status_list_uri(template.issuer, status_list),
            status_list_idx=number,
        )
        yield Made(number, own, serial(number))


class _Signed:
    """With signatures of the development key, as that of the template has."""

    def __init__(self, fields: bytes, status_list: int, view: str) -> None:
        self._signer = Ed25519Signer(DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED)
        self._fields, self._status_list = fields, status_list
        self._disclosures = view.partition(END)[2]

    def version(self, each: Made) -> tuple[object, ...]:
        receipt = each.receipt
        stored = receipt_bytes(receipt)
        return (
            receipt.passport_version_id, receipt.tenant_id, receipt.passport_id, receipt.snapshot_id,
            receipt.rule_package_version_id, receipt.compiler_build_id, receipt.law_date, receipt.issued_at,
            each.status, _PAYLOAD, b"", stored, receipt.payload_hash, receipt.proof_root_hash,
            receipt.unique_identifier, self._status_list, receipt.status_list_idx, self._fields, b"",
            sha256(stored), bytes(32), receipt.signing_key_id, self._signer.sign(Kind.RECEIPT, stored),
            self._signer.sign(Kind.VIEW, claims(receipt, self._fields)), self._signer.public_key, b"{}",
            receipt.issued_at,
        )  # fmt: skip

    def public_row(self, each: Made) -> tuple[object, ...]:
        """As the public door reads it, with the view that is for everybody."""
        receipt, signer = each.receipt, self._signer
        told = claims(receipt, self._fields)
        was_in_force = None if each.status == "SIGNED" else receipt.issued_at
        return (
            receipt.passport_version_id, receipt.tenant_id, receipt.passport_id, receipt.unique_identifier,
            receipt.issuer.removeprefix("https://"), "item", "Generated model", each.status,
            receipt.issued_at, receipt.law_date,
            was_in_force, receipt.issued_at if each.status == "REVOKED" else None,
            jws(told, signer.key_id, signer.sign(Kind.VIEW, told)) + END + self._disclosures,
        )  # fmt: skip


def _product(number: int) -> UUID:
    return UUID(bytes=hashlib.md5(f"product {number % _PRODUCTS}".encode(), usedforsecurity=False).digest())


def _passport(each: Made) -> tuple[object, ...]:
    receipt = each.receipt
    return (
        receipt.passport_id, receipt.tenant_id, receipt.battery_product_id, each.serial, "item",
        receipt.unique_identifier, receipt.issued_at,
    )  # fmt: skip


def _copy(
    connection: Connection[dict[str, object]],
    table: str,
    columns: Sequence[str],
    rows: Iterable[tuple[object, ...]],
) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _bytes(row: Mapping[str, object], column: str) -> bytes:
    return bytes(cast("memoryview", row[column]))
