"""The page Dead: what jobs died of, cause by cause; the letters of one; all of them as a file."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.bulk_lines import BulkAct, BulkLine, line
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.layer.answers import Answer, Page, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

MOST_OF_CAUSE = 2001
MOST_COUNTED = 20_001
TYPED_FROM = 100  # so many are not touched without their number typed
PAGE = 50
_EXPORTED_AT_ONCE, _MOST_EXPORTED = 200, 20_000
_ACTS_SHOWN = 10


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which ones; empty: any. All of it stands in the address."""

    status: Literal["", "DEAD_LETTER", "FAILED"] = ""
    type: str = ""
    code: str = ""
    fingerprint: str = ""

    @property
    def params(self) -> dict[str, object]:
        return {name: shown.or_none(getattr(self, name)) for name in Choice.__struct_fields__}

    @property
    def query(self) -> str:
        found = {name: getattr(self, name) for name in Choice.__struct_fields__}
        return urlencode({name: each for name, each in found.items() if each})

    @property
    def is_one_cause(self) -> bool:
        return bool(self.fingerprint)


class DeadQuery(Choice, frozen=True, forbid_unknown_fields=True, kw_only=True):
    after: str = ""  # when the last one of the page before died, and which it was


class Confirm(Choice, frozen=True, forbid_unknown_fields=True, kw_only=True):
    act: Literal["retry", "discard"]


class _Cause(msgspec.Struct, frozen=True):
    status: str
    type: str
    code: str
    fingerprint: str
    count: int
    first_at: datetime | None
    last_at: datetime | None
    sample_id: UUID
    sample: str | None
    pattern: str | None


class _Letter(msgspec.Struct, frozen=True):
    job_id: UUID
    tenant: str
    status: str
    type: str
    queue: str
    code: str
    fingerprint: str
    message: str | None
    attempts: int
    max_attempts: int
    created_at: datetime
    finished_at: datetime | None


class CauseLine(msgspec.Struct, frozen=True):
    status: str
    type: str
    code: str
    pattern: str
    sample: str
    sample_id: UUID
    count: str
    first: str
    last: str
    query: str


class LetterLine(msgspec.Struct, frozen=True):
    job_id: UUID
    tenant: str
    type: str
    queue: str
    code: str
    message: str
    attempts: str
    died: str


class Dead(msgspec.Struct, frozen=True):
    at: str
    choice: Choice
    causes: list[CauseLine]
    letters: list[LetterLine]
    more: str  # the query of the next page
    total: str
    acts: list[BulkLine]


class Confirmed(msgspec.Struct, frozen=True):
    """What is asked for before anything is done."""

    act: str
    choice: Choice
    count: int
    counted: str
    before: str
    typed: int  # the number that has to be typed; 0: none
    failed: bool = False


class _Count(msgspec.Struct, frozen=True):
    count: int
    before: datetime


async def show(parts: Parts, request: Request) -> Answer:
    asked = request.asked(DeadQuery)
    choice = Choice(status=asked.status, type=asked.type, code=asked.code, fingerprint=asked.fingerprint)
    async with viewing(parts, request) as view:
        causes = [] if choice.is_one_cause else await _causes(view, choice)
        letters = await _letters(view, choice, asked.after)
        counted = await count(view, choice, None)
        acts = await view.of_jobs("bulk_acts", BulkAct, bulk_act_id=None, limit=_ACTS_SHOWN)
    last = letters[-1] if len(letters) == PAGE else None
    more = "" if last is None else f"{choice.query}&{urlencode({'after': _place(last)})}".lstrip("&")
    record = Dead(
        at=shown.stamp(view.now),
        choice=choice,
        causes=causes,
        letters=[_letter(each) for each in letters],
        more=more,
        total=shown.bounded(counted.count, MOST_COUNTED),
        acts=[line(each, view.now) for each in acts],
    )
    return Page("dashboard/dead.html", record)


def _place(letter: _Letter) -> str:
    at = "" if letter.finished_at is None else letter.finished_at.isoformat()
    return f"{at} {letter.job_id}"


def _after(text: str) -> dict[str, object]:
    if not text:
        return {"after_at": None, "after_id": None}
    at, _, job_id = text.rpartition(" ")
    try:
        return {"after_at": datetime.fromisoformat(at), "after_id": UUID(job_id)}
    except ValueError:
        raise Permanent(Code.VALIDATION_ERROR, "`after` is of no page that was shown") from None


async def _causes(view: View, choice: Choice) -> list[CauseLine]:
    rows = await view.rows(
        "dead_causes",
        _Cause,
        tenant_id=view.tenant_id,
        status=shown.or_none(choice.status),
        most=MOST_OF_CAUSE,
    )
    wanted = [each for each in rows if choice.type in {"", each.type} and choice.code in {"", each.code}]
    return [_cause(each) for each in wanted]


def _cause(each: _Cause) -> CauseLine:
    of = Choice(status=each.status, type=each.type, code=each.code, fingerprint=each.fingerprint)  # type: ignore[arg-type]  # one of both
    return CauseLine(
        status=each.status,
        type=each.type,
        code=each.code,
        pattern=each.pattern or "",
        sample=each.sample or "",
        sample_id=each.sample_id,
        count=shown.bounded(each.count, MOST_OF_CAUSE),
        first=shown.stamp(each.first_at),
        last=shown.stamp(each.last_at),
        query=of.query,
    )


async def _letters(view: View, choice: Choice, after: str) -> list[_Letter]:
    params = choice.params | _after(after) | {"before": None, "page": PAGE}
    return await view.rows("dead_page", _Letter, tenant_id=view.tenant_id, **params)


def _letter(each: _Letter) -> LetterLine:
    return LetterLine(
        job_id=each.job_id,
        tenant=each.tenant,
        type=each.type,
        queue=each.queue,
        code=each.code,
        message=each.message or "",
        attempts=f"{each.attempts}/{each.max_attempts}",
        died=shown.stamp(each.finished_at),
    )


async def count(view: View, choice: Choice, before: datetime | None) -> _Count:
    """Of when it counts, it tells: what dies later is not meant."""
    params = choice.params | {"before": before, "most": MOST_COUNTED}
    [found] = await view.rows("dead_count", _Count, tenant_id=view.tenant_id, **params)
    return found


async def confirm(parts: Parts, request: Request) -> Answer:
    """How many there are, before anybody is asked whether he means them."""
    asked = request.asked(Confirm)
    choice = Choice(status=asked.status, type=asked.type, code=asked.code, fingerprint=asked.fingerprint)
    async with viewing(parts, request) as view:
        found = await count(view, choice, None)
    return Page("dashboard/confirm.html", confirmed(asked.act, choice, found.count, found.before))


def confirmed(act: str, choice: Choice, found: int, before: datetime, *, failed: bool = False) -> Confirmed:
    typed = min(found, MOST_COUNTED - 1)
    return Confirmed(
        act=act,
        choice=choice,
        count=found,
        counted=shown.bounded(found, MOST_COUNTED),
        before=before.isoformat(),
        typed=typed if typed > TYPED_FROM else 0,
        failed=failed,
    )


class _Exported(msgspec.Struct, frozen=True):
    job_id: UUID
    line: str


async def export(parts: Parts, request: Request) -> Answer:
    """NDJSON, the newest first, as the database has it."""
    choice = request.asked(Choice)
    async with viewing(parts, request) as view:
        parts_ = [part async for part in _exported(view, choice)]
    headers = {"Content-Disposition": 'attachment; filename="dead-letters.ndjson"'}
    return Raw(b"".join(parts_), "application/x-ndjson", headers=headers)


async def _exported(view: View, choice: Choice) -> AsyncIterator[bytes]:
    after, left = "", _MOST_EXPORTED
    while left > 0:
        params = choice.params | _after(after) | {"before": None, "page": min(_EXPORTED_AT_ONCE, left)}
        page = await view.rows("dead_page", _Letter, tenant_id=view.tenant_id, **params)
        rows = await view.of_jobs("exported", _Exported, job_ids=[each.job_id for each in page])
        texts = {each.job_id: each.line for each in rows}
        yield "".join(f"{texts[each.job_id]}\n" for each in page if each.job_id in texts).encode()
        if len(page) < _EXPORTED_AT_ONCE:
            return
        after, left = _place(page[-1]), left - len(page)
