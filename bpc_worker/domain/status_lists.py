"""Where the status of a passport version is told: its place in a status list."""

from uuid import UUID

import msgspec

from bpc_worker.handler_api import Context
from bpc_worker.rows import one


class Place(msgspec.Struct, frozen=True):
    """status_places"""

    status_list: int
    status_idx: int


class AllottedPlace(Place, frozen=True):
    """With whose list it is in."""

    issuer: str


def list_uri(issuer: str, status_list: int) -> str:
    """Where a list is to be had, as views name it."""
    return f"{issuer}/status/{status_list}"


async def allot(ctx: Context, passport_version_id: UUID, issuer: str) -> Place:
    """Before the version is compiled: its receipt names the place. The same whenever it is asked for."""
    params = {"passport_version_id": passport_version_id, "issuer": issuer}
    return one(await ctx.write_ahead("status/allot", params), Place, "place in a status list")
