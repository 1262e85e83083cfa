"""An act on many, as it is stored and as a page shows it."""

from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.web.dashboard import shown


class BulkAct(msgspec.Struct, frozen=True):
    bulk_act_id: UUID
    act: str
    job_status: str | None
    type: str | None
    code: str | None
    fingerprint: str | None
    died_before: datetime
    counted: int
    touched: int
    status: str
    asked_by: str
    asked_at: datetime
    stopped_by: str | None
    finished_at: datetime | None
    tenant_id: UUID | None


class BulkLine(msgspec.Struct, frozen=True):
    bulk_act_id: UUID
    act: str
    about: str
    status: str
    counted: int
    touched: int
    asked_by: str
    asked: str
    stopped_by: str
    took: str

    @property
    def done(self) -> str:
        return f"{self.touched:,}"

    @property
    def of(self) -> str:
        return f"{self.counted:,}"


def line(each: BulkAct, now: datetime) -> BulkLine:
    about = (each.job_status, each.type, each.code, each.fingerprint)
    return BulkLine(
        bulk_act_id=each.bulk_act_id,
        act=each.act,
        about=" · ".join(word for word in about if word),
        status=each.status,
        counted=each.counted,
        touched=each.touched,
        asked_by=each.asked_by,
        asked=shown.stamp(each.asked_at),
        stopped_by=each.stopped_by or "",
        took=shown.span((each.finished_at or now) - each.asked_at),
    )
