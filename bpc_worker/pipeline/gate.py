"""The gate before a passport version comes into force: what the law asks for, or a reason."""

from collections.abc import Sequence

from bpc_worker.core.passport.gaps import Report
from bpc_worker.domain.events import Happened
from bpc_worker.domain.gap_reports import read_report
from bpc_worker.domain.records import CompiledVersion
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession, check_reason
from bpc_worker.rows import value

_NAMED_AT_MOST = 10


async def pass_gate(
    pipeline: PipelineSession, tx: Tx, version: CompiledVersion, despite: str | None
) -> Happened | None:
    """What is to be told, if somebody answers for what is missing; PASSPORT_INCOMPLETE, FORBIDDEN."""
    wanted = {"tenant_id": pipeline.tenant_id, "passport_version_id": version.passport_version_id}
    stops = [str(row["code"]) for row in await tx.query("passports/gate", wanted)]
    if despite is None:
        if stops:
            raise _incomplete(read_report(version.gaps), stops)
        return None
    check_reason(despite)
    if not stops:
        raise Permanent(Code.VALIDATION_ERROR, "nothing keeps it from coming into force: leave --despite out")
    if not value(await tx.query("passports/may_release", {}), bool):
        raise Permanent(Code.FORBIDDEN, "--despite needs the database role bpc_release: ask who may grant it")
    return Happened(
        event_type="PASSPORT_RELEASED",
        aggregate_type="passport",
        aggregate_id=version.passport_id,
        payload={
            "passport_version_id": str(version.passport_version_id),
            "reason": despite,
            "missing": stops,
        },
    )


def _incomplete(report: Report, stops: Sequence[str]) -> Permanent:
    """Names the first few; the gap report has them all."""
    names = {each.point: each.name for each in report.gaps}
    names |= {each.code: each.message for each in report.findings}
    lines = [f"  {code}  {names.get(code, 'it was there before')}" for code in stops[:_NAMED_AT_MOST]]
    if len(stops) > _NAMED_AT_MOST:
        lines.append(f"  and {len(stops) - _NAMED_AT_MOST} more")
    first = f"it does not come into force: {len(stops)} of what the law asks for stand in the way"
    hint = "`bpc-worker passport gaps` says which document would bring each"
    message = "\n".join([first, *lines, hint])
    return Permanent(Code.PASSPORT_INCOMPLETE, message, detail={"stops": [*stops]})
