"""What the EU registry is told of a passport version, as it was sealed and signed."""

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.dpp import identifier
from bpc_worker.core.passport.registration import Request
from bpc_worker.domain.exporting import Format, Wanted, files_of, identifiers
from bpc_worker.domain.stored import StoredVersion


class _Product(msgspec.Struct, frozen=True):
    model_identifier: str | None = None
    commodity_code: str | None = None


def request_of(version: StoredVersion) -> Request:
    row, product = version.row, _product(version)
    return Request(
        unique_identifier=row.unique_identifier,
        granularity=row.granularity,
        model_identifier=product.model_identifier,
        operator_identifier=identifier(identifiers(version.facts, "Operator")),
        facility_identifier=identifier(identifiers(version.facts, "Facility")),
        commodity_code=product.commodity_code,
        passport_id=f"urn:uuid:{row.passport_id}",
        passport_version_id=str(row.passport_version_id),
        public_view_sha256=public_view_hash(version).hex(),
    )


def public_view_hash(version: StoredVersion) -> bytes:
    """Of the file that everybody may have; verified."""
    [view] = files_of(version, Wanted(format=Format.VIEW))
    return sha256(view.data)


def _product(version: StoredVersion) -> _Product:
    for fact in version.facts:
        if fact.fact_type == "Product":
            return msgspec.convert(canonical_json.decode(fact.canonical), _Product)
    return _Product()
