"""The page of one act on many: how far it is, who asked for it, how to stop it."""

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.bulk_lines import BulkAct, BulkLine, line
from bpc_worker.web.dashboard.view import viewing
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts


class Bulk(msgspec.Struct, frozen=True):
    at: str
    act: BulkLine


async def show(parts: Parts, request: Request) -> Answer:
    wanted = shown.uuid_or_none(request.path_args["id"])
    async with viewing(parts, request) as view:
        found = await view.of_jobs("bulk_acts", BulkAct, bulk_act_id=wanted, limit=1) if wanted else []
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such act")
    return Page("dashboard/bulk.html", Bulk(shown.stamp(view.now), line(found[0], view.now)))
