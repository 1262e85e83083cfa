"""One look at the database for one battery, one model, one host."""

from uuid import UUID

from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.states import PassportStatus
from bpc_worker.rows import all_of, value
from bpc_worker.web.database.reading import Reading
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.public.records import Attachment, Content, Found, Model, Version


class PublicTables:
    """Asked as bpc_public."""

    def __init__(self, database: WebDatabase) -> None:
        self._database = database

    async def battery(self, host: str, identifier: str, gtin: str | None, version: UUID | None) -> Found:
        async with self._database.public() as reading:
            params = {"identifier": identifier, "version": version}
            versions = all_of(await reading.query("public/versions", params), Version)
            if not versions:
                return await self._absent(reading, host, gtin)
            shown = next((each for each in versions if _is_shown(each, version)), None)
            tenant = {"tenant_id": versions[0].tenant_id}
            keys = all_of(await reading.query("public/keys", tenant), SigningKey)
            attachments: list[Attachment] = []
            if shown is not None:
                of = {"passport_version_id": shown.passport_version_id}
                attachments = all_of(await reading.query("public/attachments", of), Attachment)
            return Found(
                host_is_known=True, versions=versions, shown=shown, keys=keys, attachments=attachments
            )

    async def _absent(self, reading: Reading, host: str, gtin: str | None) -> Found:
        model = None
        if gtin is not None:
            model = await reading.maybe("public/model", Model, host=host, gtin=gtin)
        is_known = model is not None or value(await reading.query("public/host", {"host": host}), bool)
        return Found(host_is_known=is_known, model=model)

    async def model(self, host: str, gtin: str | None) -> Found:
        async with self._database.public() as reading:
            return await self._absent(reading, host, gtin)

    async def keys(self, host: str) -> list[SigningKey] | None:
        """Those that signatures of the host may be verified with; None: no identifier stands under it."""
        async with self._database.public() as reading:
            if not value(await reading.query("public/host", {"host": host}), bool):
                return None
            return await reading.rows("public/host_keys", SigningKey, host=host)

    async def status_list(self, host: str, number: int) -> str | None:
        async with self._database.public() as reading:
            rows = await reading.query("public/status_list", {"host": host, "status_list": number})
            return value(rows, str) if rows else None

    async def content(self, host: str, sha256: bytes) -> Content | None:
        async with self._database.public() as reading:
            return await reading.maybe("public/content", Content, host=host, sha256=sha256)

    async def identifier_of(self, host: str, version: UUID) -> str | None:
        async with self._database.public() as reading:
            of = {"passport_version_id": version, "host": host}
            rows = await reading.query("public/of_version", of)
            return value(rows, str) if rows else None


def _is_shown(version: Version, wanted: UUID | None) -> bool:
    if wanted is not None:
        return version.passport_version_id == wanted
    return version.status is PassportStatus.ACTIVE
