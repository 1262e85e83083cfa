"""What the handlers of this process work with."""

import time
from collections.abc import Callable, Coroutine

from bpc_worker import ids
from bpc_worker.app.base import Base
from bpc_worker.egress.breaker import Breakers
from bpc_worker.egress.concurrency import Turnstiles
from bpc_worker.engine.context import Equipment
from bpc_worker.jobs.settlement import Settlements
from bpc_worker.postgres.queue.transactions import LinkPool, Transactions
from bpc_worker.postgres.writes_ahead import WritesAhead
from bpc_worker.processes.pool import ChildLimits, Children
from bpc_worker.wiring import (
    backoff,
    breaker_rules,
    call_timeout,
    child_account,
    commands,
    dsn,
    keyring,
    policy,
    poster,
    queue_settings,
)


def equipment_of(base: Base) -> tuple[Equipment, Callable[[], Coroutine[object, object, None]]]:
    """It, and what closes it; in the handlers' loop."""
    pool = LinkPool(
        dsn(base.settings, base.url, suppress_insert_notify=True), base.settings.database.handler_connections
    )
    base.metrics.pool(lambda: pool.in_use)
    children = _children(base)
    egress = poster(base.settings)
    # The server's own limit comes first, and is an answer; silence is noticed a little later.
    timeout = call_timeout(base.settings)
    statement_timeout = base.settings.database.statement_timeout_seconds + timeout

    async def close() -> None:
        pool.close()
        await egress.close()
        await children.close()

    equipment = Equipment(
        database=Transactions(
            pool,
            queue_settings(base.settings, base.registry),
            timeout=timeout,
            statement_timeout=statement_timeout,
        ),
        ahead=WritesAhead(pool, timeout=statement_timeout),
        children=children,
        commands=commands(base.settings),
        policy=policy(base.settings),
        keyring=keyring(base.settings),
        breakers=Breakers(breaker_rules(base.settings), clock=time.monotonic, on_state=base.metrics.breaker),
        egress=egress,
        turnstiles=Turnstiles(base.settings.webhook.endpoint_concurrency, clock=time.monotonic),
        settlement=Settlements(backoff(base.settings), ids.dice),
        metrics=base.metrics,
        held=base.held,
    )
    return equipment, close


def _children(base: Base) -> Children:
    worker = base.settings.worker
    limits = ChildLimits(
        processes=worker.processes,
        memory_mb=worker.child_memory_mb,
        cpu_seconds=round(worker.child_cpu_seconds),
        account=child_account(base.settings),
    )
    return Children(limits, [task for spec in base.registry.values() for task in spec.child_tasks])
