"""Tokens of a tenant: made, listed, revoked, each an event of its audit trail."""

from collections.abc import Mapping, Sequence
from typing import Unpack
from uuid import UUID

from bpc_worker.core.base.forms import timestamp
from bpc_worker.domain import tokens
from bpc_worker.domain.events import Happened
from bpc_worker.domain.tokens import Asked, NewToken, Token, TokenState
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession, uuid_or_none
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

MOST = 10_000

_UNIQUE_VIOLATION = "23505"


async def create_token(pipeline: PipelineSession, name: str, **asked: Unpack[Asked]) -> NewToken:
    """In force from now on."""
    tokens.check(name, asked)
    try:
        return await _create(pipeline, name, asked)
    except Permanent as error:
        if not is_taken(error):
            raise
        raise taken(name) from error


def is_taken(error: Permanent) -> bool:
    return (error.detail or {}).get("sqlstate") == _UNIQUE_VIOLATION


def taken(name: str) -> Permanent:
    return Permanent(
        Code.VALIDATION_ERROR,
        f"there is a token named {name}; choose another name, or revoke it: `bpc-worker token revoke {name}`",
    )


@again
async def _create(pipeline: PipelineSession, name: str, asked: Asked) -> NewToken:
    secret = tokens.new_secret()
    params = tokens.as_made(secret, name, asked)
    async with pipeline.transaction() as tx:
        [row] = await tx.query("tokens/create", {"tenant_id": pipeline.tenant_id, **params})
        [made] = all_of([{**row, "name": name, "token": secret}], NewToken)
        told = {each: params[each] for each in ("name", "scopes", "audience")}
        told["expires_at"] = timestamp(made.expires_at)
        await _tell(pipeline, tx, "TOKEN_CREATED", made.token_id, told)
    return made


async def list_tokens(pipeline: PipelineSession) -> list[Token]:
    return await pipeline.rows("tokens/list", Token, id=None, named=None, limit=MOST)


@again
async def revoke_token(pipeline: PipelineSession, wanted: str) -> tuple[Token, bool]:
    """The token, and whether it was not revoked until now. It cannot be taken back."""
    async with pipeline.transaction() as tx:
        params = {"tenant_id": pipeline.tenant_id, "limit": MOST} | named(wanted)
        found = the_one(all_of(await tx.query("tokens/list", params), Token), wanted)
        [row] = await tx.query("tokens/revoke", {"token_id": found.token_id})
        if row["revoked"]:
            await _tell(pipeline, tx, "TOKEN_REVOKED", found.token_id, {"name": found.name})
    return found, bool(row["revoked"])


def named(wanted: str) -> dict[str, object]:
    return {"id": uuid_or_none(wanted), "named": wanted.replace("\0", "")}


def the_one(found: Sequence[Token], wanted: str) -> Token:
    """By its id, or by its name: a former one may have had it too."""
    living = [each for each in found if each.state is not TokenState.REVOKED] or found
    if not living:
        raise Permanent(Code.NOT_FOUND, f"no token {wanted!r}; `bpc-worker token list` shows them")
    if len(living) > 1:
        ids = ", ".join(str(each.token_id) for each in living)
        raise Permanent(Code.VALIDATION_ERROR, f"several tokens are named {wanted}, say which: {ids}")
    return living[0]


async def _tell(
    pipeline: PipelineSession, tx: Tx, event_type: str, token_id: UUID, payload: Mapping[str, object]
) -> None:
    happened = Happened(
        event_type=event_type, aggregate_type="api_token", aggregate_id=token_id, payload=payload
    )
    await pipeline.record(tx, happened)
