"""Remove at once, down to thirty days, what workers remove little by little."""

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.store import Pruned
from bpc_worker.operator.session import Operator
from bpc_worker.postgres.queue.pruning import walk

_PAGE_SECONDS = 60.0


async def prune(operator: Operator) -> Pruned:
    kept_days = operator.settings.jobs.retention_days
    if not any(kept_days.values()):
        raise Permanent(
            Code.CONFIG_MISSING,
            "every job is kept: set jobs.retention_days (BPC_JOBS_RETENTION_DAYS), a number of days for all "
            "types or one for each",
        )
    done = await walk(operator.link, kept_days, page_timeout=_PAGE_SECONDS)
    if done is None:
        raise Permanent(Code.FORBIDDEN, "somebody else is removing jobs this very moment; try again later")
    return done
