"""The lives of batteries: whose passport is in force, and what a passport follows."""

from uuid import UUID

from bpc_worker.domain.events import Happened
from bpc_worker.domain.records import PassportVersion
from bpc_worker.domain.states import PassportStatus
from bpc_worker.handler_api import Tx
from bpc_worker.rows import all_of


async def retire_predecessors(tx: Tx, tenant_id: UUID, version: PassportVersion) -> list[Happened]:
    """A battery has one passport in force: where this version comes into force, those it follows do not stay.

    What happened to them; nothing where its passport follows none.
    """
    params = {"tenant_id": tenant_id, "passport_id": version.passport_id}
    former = all_of(await tx.query("lives/hold_predecessors", params), PassportVersion)
    return [
        await supersede(
            tx, tenant_id, each, "PASSPORT_SUPERSEDED", superseded_by=str(version.passport_version_id)
        )
        for each in former
    ]


async def supersede(
    tx: Tx, tenant_id: UUID, version: PassportVersion, event_type: str, **more: object
) -> Happened:
    """It is in force no longer."""
    params = {"tenant_id": tenant_id, "passport_version_id": version.passport_version_id}
    await tx.query("passports/set_status", params | {"status": PassportStatus.SUPERSEDED})
    about = {
        "passport_version_id": str(version.passport_version_id),
        "receipt_hash": version.receipt_hash.hex(),
    }
    return Happened(
        event_type=event_type,
        aggregate_type="passport",
        aggregate_id=version.passport_id,
        payload=about | more,
    )
