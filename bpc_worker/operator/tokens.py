"""Tokens for all tenants, and the others as an operator sees them; the database notes who did what."""

from collections.abc import Mapping
from typing import Unpack

from bpc_worker.domain import tokens
from bpc_worker.domain.tokens import Asked, NewToken, Token
from bpc_worker.jobs.errors import Permanent
from bpc_worker.operator.session import Operator, Row
from bpc_worker.pipeline.tokens import MOST, is_taken, named, taken, the_one
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import all_of

_CALL_SECONDS = 10.0


async def create_token(operator: Operator, name: str, **asked: Unpack[Asked]) -> NewToken:
    """For all tenants, in force from now on."""
    tokens.check(name, asked)
    secret = tokens.new_secret()
    params = tokens.as_made(secret, name, asked)
    try:
        [row] = await _rows(operator, "create", {"tenant_id": None} | params)
    except Permanent as error:
        if not is_taken(error):
            raise
        raise taken(name) from error
    [made] = all_of([row | {"name": name, "token": secret}], NewToken)
    return made


async def list_tokens(operator: Operator) -> list[Token]:
    """Of all tenants, and those for all."""
    params = {"tenant_id": None, "id": None, "named": None, "limit": MOST}
    return all_of(await _rows(operator, "list", params), Token)


async def revoke_token(operator: Operator, wanted: str) -> tuple[Token, bool]:
    """The token, and whether it was not revoked until now. It cannot be taken back."""
    params = {"tenant_id": None, "limit": MOST} | named(wanted)
    found = the_one(all_of(await _rows(operator, "list", params), Token), wanted)
    [row] = await _rows(operator, "revoke", {"token_id": found.token_id})
    return found, bool(row["revoked"])


async def _rows(operator: Operator, name: str, params: Mapping[str, object]) -> list[Row]:
    return await operator.link.run(query(f"tokens/{name}"), params, timeout=_CALL_SECONDS)
