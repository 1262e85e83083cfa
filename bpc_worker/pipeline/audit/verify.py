"""Is the audit trail what was written? Recomputed from its rows, and compared with what was kept outside."""

from bpc_worker.pipeline.audit import leaves
from bpc_worker.pipeline.audit.chains import Walk
from bpc_worker.pipeline.audit.checkpoints import Kept, check_ours, marks_of
from bpc_worker.pipeline.audit.findings import Report
from bpc_worker.pipeline.session import PipelineSession


async def verify(pipeline: PipelineSession, against: Kept | None = None) -> Report:
    """Every chain of the tenant in one pass over one unchanging view, then the leaves; nothing is held."""
    report = Report(pipeline.tenant_id, pipeline.tenant_name)
    async with pipeline.reading() as tx:
        if against is not None:
            await check_ours(pipeline, tx, against)
        walk = Walk(pipeline.tenant_id, tx, marks_of(against))
        while (key := await walk.next_chain()) is not None:
            report.add(await walk.chain(key))
        report.chains, report.events = walk.chains, walk.events
        counted = await leaves.count(tx, pipeline.tenant_id)
        report.leaves = counted.leaves
        signed = None if against is None else against.statement.tree
        report.leaf_findings = await leaves.look_at_leaves(
            tx, pipeline.tenant_id, counted, expected=walk.leaves, signed=signed
        )
    return report
