"""What wakes this process early, and how it wakes others: the broker, or PostgreSQL."""

from collections.abc import Callable
from dataclasses import replace

from bpc_worker.amqp.listener import TriggerListener
from bpc_worker.app.base import Base
from bpc_worker.postgres.notify import NotifyListener, NotifySender
from bpc_worker.wiring import broker, call_timeout, dsn, listens


def trigger_listener(base: Base) -> TriggerListener | None:
    if not base.settings.queue.enabled or base.settings.queue.url is None:
        return None

    def heard() -> None:
        base.metrics.triggered()
        base.wake.ring("amqp")

    def state(connected: bool) -> None:  # noqa: FBT001 - a callback with one fact
        base.health.broker_connected = connected
        base.metrics.broker(connected=connected)

    return TriggerListener(broker(base.settings, base.settings.queue.url), on_trigger=heard, on_state=state)


def notifier(base: Base, listener: TriggerListener | None) -> Callable[[str | None], None]:
    """How other workers hear of new jobs."""
    if listener is not None:
        return listener.publish
    ringer = NotifySender(base.store.ring)
    return lambda _: ringer.ring()


def notify_listener(base: Base) -> NotifyListener | None:
    if not listens(base.settings):
        return None
    url = base.settings.database.direct_url or base.url
    return NotifyListener(
        replace(dsn(base.settings, url), prepared_statements=True),
        on_ring=lambda: base.wake.ring("notify"),
        on_state=lambda listening: base.metrics.bell(listening=listening),
        timeout=call_timeout(base.settings),
    )
