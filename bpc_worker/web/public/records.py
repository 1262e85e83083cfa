"""What the public door reads: rows of its own tables, and no others."""

from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.states import Granularity, PassportStatus


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """public_passports: in force once. The view: of the one that is, and of one that is wanted."""

    passport_version_id: UUID
    tenant_id: UUID
    passport_id: UUID
    unique_identifier: str
    granularity: Granularity
    product: str
    status: PassportStatus
    issued_at: datetime
    law_date: date
    activated_at: datetime
    superseded_at: datetime | None
    superseded_by: UUID | None
    followed_by: str | None  # the identifier that the version which took its place stands under
    revoked_at: datetime | None
    recycled_at: datetime | None
    economic_operator: str | None
    facility: str | None
    view: str | None

    @property
    def status_since(self) -> datetime:
        """When it came to its status."""
        return self.revoked_at or self.superseded_at or self.activated_at


class Attachment(msgspec.Struct, frozen=True):
    """public_attachments"""

    sha256: str
    kind: str
    media_type: str
    size: int
    language: str | None
    title: str | None


class Model(msgspec.Struct, frozen=True):
    """public_models"""

    gtin: str
    name: str
    model_identifier: str | None
    operator: str | None
    operator_web: str | None


class Content(msgspec.Struct, frozen=True):
    """public_contents"""

    media_type: str
    content: bytes


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a battery, in one view of the database."""

    host_is_known: bool
    versions: list[Version] = []  # newest first
    shown: Version | None = None  # the one in force, or the one that is wanted
    keys: list[SigningKey] = []
    attachments: list[Attachment] = []
    model: Model | None = None

    @property
    def in_force(self) -> Version | None:
        return next((each for each in self.versions if each.status is PassportStatus.ACTIVE), None)


class Mark(StrEnum):
    """How far this server vouches for what it shows."""

    GOOD = "good"
    GREY = "grey"  # not checked, not lately, or by a key that proves nothing
    BAD = "bad"
