"""Ask for an act on all that match, and stop one: the database notes who."""

from collections.abc import Mapping
from uuid import UUID

from bpc_worker.operator.session import Operator
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import value

_CALL_SECONDS = 20.0


async def ask(operator: Operator, wanted: Mapping[str, object]) -> UUID:
    """`wanted`: act, tenant_id, status, type, code, fingerprint, before, counted. It runs from now on."""
    return value(await operator.link.run(query("bulk/ask"), wanted, timeout=_CALL_SECONDS), UUID)


async def stop(operator: Operator, bulk_act_id: UUID) -> bool:
    """Whether it ran until now. The page that is under way comes to its end."""
    params = {"bulk_act_id": bulk_act_id}
    return value(await operator.link.run(query("bulk/stop"), params, timeout=_CALL_SECONDS), bool)
