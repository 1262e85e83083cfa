"""What a passport tells of its operator, facility, product and identity: facts of the sealed snapshot.

They are copied from the tables when it is sealed; a later change of the tables changes no version.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.identifier import STAND_IN_HOST, host_of
from bpc_worker.core.passport.snapshot import FactRef
from bpc_worker.domain.records import Fact, Passport
from bpc_worker.handler_api import Code, Permanent, Reading, Tx
from bpc_worker.rows import one

IDENTITY = "Identity"

_SCHEMA_VERSION = 1


class _Known(msgspec.Struct, frozen=True):
    """Of each its members as they stand in the tables; None where there is no row."""

    identity: dict[str, object]
    product: dict[str, object]
    operator: dict[str, object] | None
    facility: dict[str, object] | None
    registration_id: str | None


class _KnownModel(msgspec.Struct, frozen=True):
    product: dict[str, object]
    facility: dict[str, object] | None


async def facts_about(reading: Reading, tenant_id: UUID, passport_id: UUID) -> list[Fact]:
    params = {"tenant_id": tenant_id, "passport_id": passport_id}
    known = one(await reading.query("passports/known", params), _Known, "passport")
    facts = copied(
        {
            IDENTITY: known.identity,
            "Product": known.product,
            "Operator": known.operator,
            "Facility": known.facility,
        }
    )
    return facts if known.registration_id is None else [*facts, _registration(known.registration_id)]


async def facts_about_model(reading: Reading, tenant_id: UUID, battery_product_id: UUID) -> list[Fact]:
    """What is the same for all batteries of a product."""
    params = {"tenant_id": tenant_id, "battery_product_id": battery_product_id}
    known = one(await reading.query("products/known", params), _KnownModel, "product")
    return copied({"Product": known.product, "Facility": known.facility})


def copied(members: Mapping[str, Mapping[str, object] | None]) -> list[Fact]:
    """Facts by their types; what nobody has said is left out, so that a rule can ask whether it is there."""
    return [fact(each, each.lower(), _told(found)) for each, found in members.items() if found is not None]


def _told(members: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None and value != {}}


def fact(fact_type: str, fact_key: str, payload: Mapping[str, object]) -> Fact:
    return Fact(fact_type, fact_key, canonical_json.encode(dict(payload)))


def _registration(registration_id: str) -> Fact:
    """As a document would tell it: the registry has confirmed it since the last version."""
    return fact("Value", "registry.registration_id", {"value": registration_id})


def untold(about: Sequence[Fact], told: Sequence[FactRef]) -> list[Fact]:
    """Those that no document tells: what a document says of a registration stands."""
    named = {(each.fact_type, each.fact_key) for each in told}
    return [each for each in about if (each.fact_type, each.fact_key) not in named]


def reference(fact: Fact) -> FactRef:
    return FactRef(fact.fact_type, fact.fact_key, sha256(fact.canonical))


async def copy_in(tx: Tx, tenant_id: UUID, snapshot_id: UUID, facts: Sequence[Fact]) -> None:
    """Into a snapshot that is BUILDING and held."""
    if not facts:
        return
    columns = await keep(tx, tenant_id, facts)
    await tx.query("snapshots/copy_in", columns | {"snapshot_id": snapshot_id})


async def keep(tx: Tx, tenant_id: UUID, facts: Sequence[Fact]) -> dict[str, object]:
    """Facts that were found in no document; the columns by which they were added."""
    columns: dict[str, object] = {
        "tenant_id": tenant_id,
        "fact_types": [each.fact_type for each in facts],
        "fact_keys": [each.fact_key for each in facts],
        "schema_versions": [_SCHEMA_VERSION for _ in facts],
        "canonicals": [each.canonical for each in facts],
    }
    await tx.query("facts/add", columns)
    return columns


def check_about(facts: Sequence[Fact], passport: Passport) -> None:
    """A snapshot that tells whose it is makes no passport of another battery."""
    for whose in about_whom(facts):
        if whose != passport.unique_identifier:
            message = f"the snapshot is about {whose}, the passport is {passport.unique_identifier}"
            hint = "seal another with `bpc-worker snapshot seal --passport`"
            raise Permanent(Code.VALIDATION_ERROR, f"{message}; {hint}")


def about_whom(facts: Sequence[Fact]) -> list[object]:
    """The identifiers that a snapshot's facts tell; none in one that was sealed for no passport.

    Whoever may write facts may write anything there: what is no identifier is nobody's.
    """
    told = [
        msgspec.json.decode(fact.canonical, type=dict[str, object])
        for fact in facts
        if fact.fact_type == IDENTITY
    ]
    return [each.get("unique_identifier") for each in told]


def check_host(passport: Passport, *, stand_in: bool) -> None:
    """In production somebody can open its URL."""
    if not stand_in and host_of(passport.unique_identifier) == STAND_IN_HOST:
        message = f"{passport.unique_identifier} is an identifier of development, and env is prod"
        hint = "`bpc-worker host add`, then a serial of its own for the battery"
        raise Permanent(Code.CONFIG_MISSING, f"{message}; {hint}")
