"""Find by what a person has at hand: an id, a serial number, a GTIN, a document's name, a correlation id."""

from uuid import UUID

import msgspec

from bpc_worker.core.base.gs1 import Gs1Error, gtin14
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.layer.answers import Answer, Page, SeeOther
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

_MOST = 50
_PAGES = {
    "job": "/jobs/{id}",
    "build": "/builds/{id}",
    "passport": "/passports/{id}",
    "version": "/passports/{id}",
    "delivery": "/deliveries/{id}",
    "document": "",  # it is shown where it is used
    "product": "/passports?product={id}",
}


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    q: str = ""


class _Hit(msgspec.Struct, frozen=True):
    what: str
    id: UUID
    name: str
    tenant: str


class Hit(msgspec.Struct, frozen=True):
    what: str
    name: str
    tenant: str
    link: str


class Results(msgspec.Struct, frozen=True):
    q: str
    hits: list[Hit]
    related: list[Hit]


class _Related(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    status: str


async def show(parts: Parts, request: Request) -> Answer:
    """One hit is shown at once."""
    asked = request.asked(Search).q.strip()
    if not asked or "\0" in asked:
        return Page("dashboard/search.html", Results(asked.replace("\0", ""), [], []))
    async with viewing(parts, request) as view:
        hits = await _hits(view, asked)
        related = await view.of_jobs("correlated", _Related, correlation_id=asked, limit=_MOST)
    if len(hits) == 1 and hits[0].link:
        return SeeOther(hits[0].link)
    jobs = [Hit("job", f"{each.type} {each.status}", "", f"/jobs/{each.job_id}") for each in related]
    return Page("dashboard/search.html", Results(asked, hits, jobs))


async def _hits(view: View, asked: str) -> list[Hit]:
    wanted = shown.uuid_or_none(asked)
    params = {"id": wanted, "text": asked, "gtin": _gtin(asked)}
    found = await view.rows("search", _Hit, **params)
    if wanted is not None:
        found += await view.of_jobs("search_job", _Hit, id=wanted)
    return [Hit(each.what, each.name, each.tenant, _PAGES[each.what].format(id=each.id)) for each in found]


def _gtin(text: str) -> str | None:
    try:
        return gtin14(text)
    except (Gs1Error, ValueError):
        return None
