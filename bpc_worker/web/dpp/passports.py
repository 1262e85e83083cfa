"""Passports as the standard read interface gives them: of one version, for one audience, as one document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from bpc_worker import ids
from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.audience import PUBLIC
from bpc_worker.domain.exporting import Format, Wanted, files_of
from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.states import PassportStatus
from bpc_worker.domain.stored import read_stored
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.locks.identity import Identity
from bpc_worker.web.public.passports import json_of
from bpc_worker.web.public.records import Mark, Version
from bpc_worker.web.public.verdicts import verdict_on

Choose = Callable[[Sequence[Version]], Version | None]

NOT_FOUND, FORBIDDEN, FAILED = "ClientErrorResourceNotFound", "ClientForbidden", "ServerInternalError"
_VALUES = "values"


@dataclass(frozen=True, slots=True)
class Document:
    """`compressed`: after EN 18223, canonical; `view`: the signed text that says the same."""

    compressed: bytes
    view: str


class Passports:
    def __init__(self, database: WebDatabase) -> None:
        self._database = database

    async def document(
        self, who: Identity, choose: Choose, *, passport_id: UUID | None = None, identifier: str | None = None
    ) -> Document:
        """What whoever asks may see; of what there is not, and what is not his, the same is said."""
        params = {"passport_id": passport_id, "identifier": identifier}
        if who.audience == PUBLIC:
            return await self._for_all(params, choose)
        if who.tenant_id is None or not who.may(_VALUES):
            raise Refused(
                403,
                FORBIDDEN,
                f"what {who.audience} may see needs a token of the tenant with the scope values",
            )
        async with self._database.pipeline(who, read_only=True) as pipeline:
            return await _for_one(pipeline, who.audience, params, choose)

    async def _for_all(self, params: Mapping[str, object], choose: Choose) -> Document:
        async with self._database.public() as reading:
            version = _chosen(all_of(await reading.query("public/versions_of", params), Version), choose)
            keys = await reading.rows("public/keys", SigningKey, tenant_id=version.tenant_id)
        verdict = verdict_on(version, keys, datetime.fromtimestamp(ids.unix_time(), UTC))
        if verdict.mark is Mark.BAD:
            raise Refused(500, FAILED, "what is stored is not what was signed: nothing is handed out")
        return Document(json_of(version, verdict), version.view or "")


async def _for_one(
    pipeline: PipelineSession, audience: str, params: Mapping[str, object], choose: Choose
) -> Document:
    async with pipeline.reading() as tx:
        versions = all_of(await tx.query("public/versions_of", params), Version)
        version_id = _chosen(versions, choose).passport_version_id
        stored = await read_stored(tx, pipeline.tenant_id, version_id)
    try:
        document, view = files_of(stored, Wanted(format=Format.DPP, audience=audience))
    except Permanent as error:
        if error.code == Code.VALIDATION_ERROR:
            raise Refused(403, FORBIDDEN, f"the passport has nothing for {audience}") from error
        raise
    return Document(document.data, view.data.decode())


def _chosen(versions: Sequence[Version], choose: Choose) -> Version:
    found = choose(versions)
    if found is None or found.status is PassportStatus.REVOKED:
        raise Refused(404, NOT_FOUND, "there is no such passport, or none in force")
    return found


def in_force(versions: Sequence[Version]) -> Version | None:
    return next((each for each in versions if each.status is PassportStatus.ACTIVE), None)


def on(moment: datetime) -> Choose:
    """The one that was in force then."""

    def choose(versions: Sequence[Version]) -> Version | None:
        for each in versions:
            ended = each.superseded_at or each.revoked_at
            if each.activated_at <= moment and (ended is None or moment < ended):
                return each
        return None

    return choose


class Element(msgspec.Struct, frozen=True, rename="camel"):
    """A data element of the full form, by its path in the compressed one."""

    element_id: str
    value: object


_HEADER = (
    "digitalProductPassportId", "uniqueProductIdentifier", "granularity", "dppSchemaVersion", "dppStatus",
    "lastUpdate", "economicOperatorId", "facilityId", "contentSpecificationIds",
)  # fmt: skip


def full(document: Document) -> dict[str, object]:
    """The header, every element by itself, and the signed view that says the same."""
    found = compressed(document)
    header = {name: found[name] for name in _HEADER}
    groups = {name: value for name, value in found.items() if name not in _HEADER}
    return header | {"elements": [*_elements(groups, ())], "signedView": document.view}


def compressed(document: Document) -> dict[str, object]:
    found = canonical_json.decode(document.compressed)
    if not isinstance(found, dict):
        raise TypeError("a passport is an object")
    return dict(found)


def _elements(found: Mapping[str, object], above: tuple[str, ...]) -> list[Element]:
    """A group is what has groups or elements in it; a value is what it is, records too."""
    listed: list[Element] = []
    for name, value in found.items():
        path = (*above, name)
        if isinstance(value, dict) and not above:
            listed += [Element(".".join((*path, inner)), each) for inner, each in value.items()]
        else:
            listed.append(Element(".".join(path), value))
    return listed


def element(document: Document, path: str) -> object:
    """By names with points between them, as RFC 9535 writes them with `$.` in front."""
    found: object = compressed(document)
    for name in path.removeprefix("$.").split("."):
        if not isinstance(found, dict) or name not in found:
            raise Refused(404, NOT_FOUND, "the passport has no such element for whoever asks")
        found = found[name]
    return found
