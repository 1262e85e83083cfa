"""What every part of a process is made with."""

from dataclasses import dataclass, field

from bpc_worker.config.settings import Settings
from bpc_worker.engine.health import Health
from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.engine.wake import Wake
from bpc_worker.observability.metrics import Metrics
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    settings: Settings
    registry: Registry
    url: str  # of the database
    store: PostgresJobs
    health: Health
    held: HeldBytes
    metrics: Metrics = field(default_factory=Metrics)
    wake: Wake = field(default_factory=Wake)
