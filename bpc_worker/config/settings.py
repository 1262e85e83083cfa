"""What the worker is told: defaults < file < environment < flags, as one frozen Settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Literal

import msgspec

from bpc_worker.config.checks import PARTS, settle
from bpc_worker.config.maps import Rate, Schedule
from bpc_worker.config.sources import Draft, take_environment, take_file, take_flags
from bpc_worker.handler_api import Command

__all__ = ["Command", "ConfigError", "Settings", "describe", "load"]

_NO_FLAGS: Mapping[str, object] = MappingProxyType({})


class ConfigError(Exception):
    """Everything that is wrong with the configuration, at once."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Database:
    url: str | None = field(repr=False)
    direct_url: str | None = field(repr=False)
    migrate_url: str | None = field(repr=False)
    prepared_statements: bool
    handler_connections: int
    statement_timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Queue:
    enabled: bool
    url: str | None = field(repr=False)
    exchange: str
    routing_key: str


@dataclass(frozen=True, slots=True)
class Notify:
    enabled: bool


@dataclass(frozen=True, slots=True)
class Jobs:
    poll_interval_ms: int
    lease_seconds: float
    lease_renew_seconds: float
    max_attempts_default: int
    backoff_base: int
    backoff_max: int
    max_queued: int
    warn_depth: int
    retention_days: Mapping[str, int]  # by type; "*": the others


@dataclass(frozen=True, slots=True)
class Worker:
    id: str
    concurrency: int
    processes: int
    queues: tuple[str, ...]
    job_timeout_seconds: float
    shutdown_grace_seconds: float
    child_memory_mb: int
    child_cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Reaper:
    interval_seconds: float
    sla_factor: Mapping[str, float]  # by type; "*": the others
    tables: tuple[str, ...]
    sample_interval: float


@dataclass(frozen=True, slots=True)
class Producer:
    scan_dir: str | None
    include_globs: tuple[str, ...]
    exclude_globs: tuple[str, ...]
    default_priority: str
    high_priority_exts: tuple[str, ...]
    rate_limit_per_sec: float
    rate_limit_key: str
    scan_interval_seconds: float


@dataclass(frozen=True, slots=True)
class Http:
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Health:
    require_queue: bool


@dataclass(frozen=True, slots=True)
class Log:
    level: Literal["debug", "info", "warning", "error"]
    format: Literal["auto", "json", "console"]


@dataclass(frozen=True, slots=True)
class Signing:
    private_key: bytes | None = field(repr=False)
    command: Command | None = field(repr=False)  # asked instead, where the key is elsewhere
    public_key: str | None  # of that key, in base64
    key_id: str | None
    former_keys: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Disclosure:
    key: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ingest:
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    document_bytes: int
    payload_bytes: int
    proof_bytes: int
    receipt_bytes: int


@dataclass(frozen=True, slots=True)
class Retention:
    days: Mapping[str, int]  # by kind; 0: kept


@dataclass(frozen=True, slots=True)
class Tracing:
    enabled: bool
    endpoint: str | None


@dataclass(frozen=True, slots=True)
class Webhook:
    sealing_keys: Mapping[str, bytes] = field(repr=False)  # the first one seals, all of them open
    endpoint_concurrency: int
    disable_after: float
    ports: tuple[int, ...]
    allow_cidrs: tuple[str, ...]
    ca_file: str | None


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    failure_threshold: float
    window: float
    cooldown_period: float
    min_samples: int
    half_open_probes: int


@dataclass(frozen=True, slots=True)
class Settings:
    env: Literal["dev", "prod"]
    database: Database
    queue: Queue
    notify: Notify
    jobs: Jobs
    worker: Worker
    reaper: Reaper
    producer: Producer
    http: Http
    health: Health
    log: Log
    signing: Signing
    disclosure: Disclosure
    compiler_build_id: str
    ingest: Ingest
    limits: Limits
    retention: Retention
    tracing: Tracing
    webhook: Webhook
    circuit_breaker: CircuitBreaker
    rate_limits: Mapping[str, Rate]
    schedules: Mapping[str, Schedule]
    data_dir: str | None
    commands: Mapping[str, Command] = field(repr=False)
    sources: Mapping[str, str]
    hints: tuple[str, ...]


def load(
    *,
    env: Mapping[str, str],
    flags: Mapping[str, object] = _NO_FLAGS,
    config_path: str | None = None,
    default_worker_id: str = "bpc-worker",
) -> Settings:
    """The effective settings, or ConfigError with all that is wrong."""
    draft = Draft()
    draft.values["worker.id"] = default_worker_id
    take_file(draft, config_path or env.get("BPC_CONFIG"))
    take_environment(draft, env)
    take_flags(draft, flags)
    settle(draft)
    if draft.problems:
        raise ConfigError(draft.problems)
    return _settings(draft)


def describe(settings: Settings) -> list[tuple[str, str, str]]:
    """Key, value and source of every setting; nothing in it is secret."""
    from bpc_worker.observability.log import redact

    rows = []
    for name, source in settings.sources.items():
        value: object = attrgetter(name)(settings)
        rows.append((name, redact(_shown(value)), source))
    return rows


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.15g}"
        case bytes():
            return "***"
        case Command():
            return value.argv[0]
        case dict():  # of commands and schedules only the names: what is in them may be secret
            return ", ".join(_entry(name, each) for name, each in value.items())
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _entry(name: str, value: object) -> str:
    return f"{name}={_shown(value)}" if isinstance(value, int | float) else name


def _settings(draft: Draft) -> Settings:
    sources = {name: draft.sources[name] for name in draft.sources if name not in PARTS}
    tree: dict[str, object] = {"sources": sources, "hints": draft.hints}
    sections: dict[str, dict[str, object]] = {}
    for name, value in draft.values.items():
        section, _, leaf = name.rpartition(".")
        if section:
            sections.setdefault(section, {})[leaf] = value
        else:
            tree[leaf] = value
    return msgspec.convert(tree | sections, Settings)
