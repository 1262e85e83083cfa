"""What the public door has of a signed version: the view that everybody may see, and nothing else of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from bpc_worker.core.base.audience import PUBLIC, seen_as
from bpc_worker.core.passport.dpp import identifier
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_text import parse_view
from bpc_worker.domain.exporting import identifiers
from bpc_worker.domain.records import Fact
from bpc_worker.handler_api import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPart:
    """`operator` and `facility` as the JSON after EN 18223 names them."""

    view: str
    operator: str | None
    facility: str | None


def public_part(whole: str, facts: Iterable[Fact]) -> PublicPart | None:
    """Of a view with all disclosures; None where its rules have nothing for the public."""
    if not seen_as(PUBLIC, parse_view(whole).claims.audiences):
        return None
    about = [each for each in facts if each.fact_type in ("Operator", "Facility")]
    return PublicPart(
        view=cut(whole, PUBLIC),
        operator=identifier(identifiers(about, "Operator")),
        facility=identifier(identifiers(about, "Facility")),
    )


async def publish(tx: Tx, passport_version_id: UUID, part: PublicPart) -> None:
    """In the transaction that signs it; nobody sees it before it comes into force."""
    row = {"view": part.view, "operator": part.operator, "facility": part.facility}
    await tx.query("public/publish", row | {"passport_version_id": passport_version_id})
