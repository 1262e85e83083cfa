"""One version of a passport: brought into force, revoked."""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.passports import activate, revoke
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.api.bodies import optional_json
from bpc_worker.web.api.context import Api, id_of
from bpc_worker.web.api.described import JSON, ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.passports import ABOUT, Version, find_versions
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_PATH = "/v1/passports/{id}/versions/{v}"


class Activation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`despite`: why somebody answers for what the law asks for and this version lacks."""

    despite: str | None = None


class Activated(msgspec.Struct, frozen=True, kw_only=True):
    """`former`: the version that was in force until now."""

    passport_version_id: UUID
    former: UUID | None


class Revocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The reason stands in the audit trail, for ever."""

    reason: str


class Revoked(msgspec.Struct, frozen=True, kw_only=True):
    """`changed`: whether it was not revoked before."""

    passport_version_id: UUID
    changed: bool


@dataclass(frozen=True, slots=True)
class Versions:
    api: Api

    def routes(self) -> list[ApiRoute]:
        acts = needs("activate", changes=True)
        return [
            ApiRoute("GET", _PATH, self.shown, needs("read"), answers=Version, says="One version.",
                     about=ABOUT),
            ApiRoute("POST", f"{_PATH}:activate", self.activate, acts, body=bytes, answers=Activated,
                     says="Bring it into force, in the place of the one that is.", about=ABOUT,
                     takes={JSON: Activation}),
            ApiRoute("POST", f"{_PATH}:revoke", self.revoke, acts, body=Revocation, answers=Revoked,
                     says="Revoke it, for ever.", about=ABOUT),
        ]  # fmt: skip

    async def shown(self, request: Request) -> Answer:
        return Data(await self.api.read(request, version_of, *ids_of(request)))

    async def activate(self, request: Request) -> Answer:
        told = optional_json(request, Activation)
        ids = ids_of(request)

        async def act(one: OneTransaction) -> Data:
            version = await version_of(one, *ids)
            done, former = await activate(one, str(version.passport_version_id), despite=told.despite)
            return Data(Activated(passport_version_id=done, former=former))

        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, act)

    async def revoke(self, request: Request) -> Answer:
        told = request.given(Revocation)
        ids = ids_of(request)

        async def act(one: OneTransaction) -> Data:
            version = await version_of(one, *ids)
            done, changed = await revoke(one, str(version.passport_version_id), told.reason)
            return Data(Revoked(passport_version_id=done, changed=changed))

        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, act)


def ids_of(request: Request) -> tuple[UUID, UUID]:
    return id_of(request, "id", "passport"), id_of(request, "v", "passport version")


async def version_of(pipeline: PipelineSession, passport_id: UUID, version_id: UUID) -> Version:
    """Of that very passport."""
    found = await find_versions(pipeline, passport_id, version_id)
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such passport version")
    return found[0]
