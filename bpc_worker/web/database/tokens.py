"""Tokens and sessions, which the database keeps by their hashes."""

from datetime import datetime

import msgspec

from bpc_worker.domain.tokens import TokenState
from bpc_worker.jobs.errors import Unavailable
from bpc_worker.jobs.model import TenantId
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import maybe, value
from bpc_worker.web.database.roles import READER, WebDatabase
from bpc_worker.web.locks.identity import TOKEN_NAME, Identity, Kind

_CALL_SECONDS = 5.0


class _Found(msgspec.Struct, frozen=True):
    state: TokenState
    tenant_id: TenantId | None
    name: str | None
    scopes: list[str] | None
    audience: str | None


async def any_token(dsn: Dsn) -> bool:
    """Whether there is one in force; also where nobody knows, as the database does not answer."""
    link = Link(dsn)
    link.begin_with({"role": READER})
    try:
        return value(await link.run(query("web/any_token"), timeout=_CALL_SECONDS), bool)
    except Unavailable:
        return True  # each request is asked for its own anyway
    finally:
        link.drop()


class StoredTokens:
    def __init__(self, database: WebDatabase) -> None:
        self._database = database

    async def by_token(self, token_hash: bytes) -> Identity | None:
        return await self._find("web/find_token", token_hash, Kind.TOKEN)

    async def by_session(self, session_hash: bytes) -> Identity | None:
        return await self._find("web/find_session", session_hash, Kind.SESSION)

    async def _find(self, name: str, hashed: bytes, kind: Kind) -> Identity | None:
        async with self._database.locks() as link:
            rows = await link.run(query(name), {"hash": hashed}, timeout=_CALL_SECONDS)
        found = maybe(rows, _Found)
        if found is None or found.state is not TokenState.VALID or found.name is None:
            return None
        return Identity(
            TOKEN_NAME + found.name,
            kind,
            tenant_id=found.tenant_id,
            scopes=frozenset(found.scopes or ()),
            audience=found.audience or "public",
        )

    async def begin_session(self, token_hash: bytes, session_hash: bytes, seconds: int) -> datetime | None:
        """When it ends; None: the token is good for nothing."""
        params = {"token": token_hash, "session": session_hash, "seconds": seconds}
        async with self._database.locks() as link:
            rows = await link.run(query("web/begin_session"), params, timeout=_CALL_SECONDS)
        return None if rows[0]["ends"] is None else value(rows, datetime)

    async def end_session(self, session_hash: bytes) -> None:
        async with self._database.locks() as link:
            await link.run(query("web/end_session"), {"session": session_hash}, timeout=_CALL_SECONDS)
