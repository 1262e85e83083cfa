"""The names that settings had elsewhere: read still, converted where the unit was another, with a hint."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from bpc_worker.config.kinds import seconds_of

Convert = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Alias:
    """An old name: of a variable when it is in upper case, else of a key in the file."""

    name: str
    convert: Convert = lambda value: value  # into the unit of today
    note: str = ""  # what is different today
    entry: str | None = None  # of a mapping by type, it is this entry alone

    @property
    def is_variable(self) -> bool:
        return self.name.isupper()

    @property
    def remark(self) -> str:
        """What is different, to be put behind its name."""
        return f" ({self.note})" if self.note else ""


def _scaled(scale: Callable[[float], float]) -> Convert:
    """A finite number or duration, scaled; anything else as it is, for the key to refuse."""

    def convert(value: object) -> object:
        given = seconds_of(value)
        try:
            number = float(given) if isinstance(given, str | int | float) else math.nan
        except (ValueError, OverflowError):
            return value
        return scale(number) if math.isfinite(number) and not isinstance(given, bool) else value

    return convert


def _level(value: object) -> object:
    return "warning" if str(value).strip().lower() == "warn" else value


_whole_seconds = _scaled(math.ceil)
_whole_seconds_of_ms = _scaled(lambda ms: math.ceil(ms / 1000))
_base = _scaled(lambda seconds: max(2, math.ceil(seconds)))
_base_of_ms = _scaled(lambda ms: max(2, math.ceil(ms / 1000)))
_SECONDS = "it was in seconds"
_UP = "in whole seconds, rounded up"
_POWERS = f"{_UP}, at least 2: the delay after attempt n is the base to the power n"

ALIASES: dict[str, tuple[Alias, ...]] = {
    "database.url": (Alias("DATABASE_URL"),),
    "worker.id": (Alias("WORKER_ID"),),
    "worker.concurrency": (Alias("worker.count"),),
    "jobs.poll_interval_ms": (
        Alias("POLL_INTERVAL", _scaled(lambda seconds: round(seconds * 1000)), _SECONDS),
    ),
    "jobs.lease_seconds": (
        Alias("DEFAULT_LEASE_SEC"),
        Alias("QUEUE_VISIBILITY_SEC"),
        Alias("worker.heartbeat_ttl", seconds_of),
    ),
    "jobs.lease_renew_seconds": (
        Alias("HEARTBEAT_SEC"),
        Alias("worker.brpoplpush_timeout", seconds_of),
        Alias("brpoplpush_timeout", seconds_of),
    ),
    "jobs.max_attempts_default": (
        Alias("JOB_MAX_ATTEMPTS"),
        Alias("QUEUE_MAX_ATTEMPTS"),
        Alias("worker.max_retries", note="attempts count the first one, too"),
    ),
    "jobs.backoff_base": (
        Alias("QUEUE_RETRY_BACKOFF_MS_BASE", _base_of_ms, _POWERS),
        Alias("worker.backoff.base", _base, _POWERS),
        Alias("backoff.base", _base, _POWERS),
    ),
    "jobs.backoff_max": (
        Alias("QUEUE_RETRY_BACKOFF_MS_MAX", _whole_seconds_of_ms, _UP),
        Alias("worker.backoff.max", _whole_seconds, _UP),
        Alias("backoff.max", _whole_seconds, _UP),
    ),
    "jobs.max_queued": (Alias("QUEUE_SETTINGS.max_in_memory"),),
    "jobs.warn_depth": (Alias("QUEUE_SETTINGS.warn_depth"),),
    "reaper.interval_seconds": (Alias("REAPER_INTERVAL_SEC"),),
    "reaper.sla_factor": tuple(
        Alias(f"{kind}_SLA_FACTOR", note=f"its entry {kind}", entry=kind)
        for kind in ("CLIP", "ASR", "BURNIN")
    ),
    "reaper.sample_interval": (Alias("observability.queue_sample_interval"),),
    "http.port": (Alias("observability.metrics_port"),),
    "log.level": (Alias("observability.log_level", _level),),
    "tracing.enabled": (Alias("observability.tracing.enabled"),),
    "tracing.endpoint": (Alias("observability.tracing.endpoint"),),
    "circuit_breaker.cooldown_period": (Alias("circuit_breaker.open_cooldown_seconds"),),
    "circuit_breaker.half_open_probes": (Alias("circuit_breaker.half_open_probe_count"),),
}

# Names that have no successor: accepted, so that a file of old still starts a worker, and unused.
DROPPED = {
    "redis": "PostgreSQL is the store",
    "worker.priorities": "a priority is 0..3, or critical, high, normal, low, with every job",
    "worker.processing_list_pattern": "a claim is a row with a lease",
    "worker.heartbeat_key_pattern": "a heartbeat is a column of the job",
    "worker.completed_list": "a completed job has status SUCCEEDED",
    "worker.dead_letter_list": "a dead letter has status DEAD_LETTER",
    "QUEUE_SETTINGS.priorities": "0, 5 and 10 are high, normal and low here: 1, 2 and 3",
}
