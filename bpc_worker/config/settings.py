"""Every setting, once: its section and name, its type, what it may be, its help and its default.

The sections about passports, from the inbox to the webhooks, are in `passport_settings`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from bpc_worker.config import kinds, maps
from bpc_worker.config.keys import keys_of, section, setting
from bpc_worker.config.passport_settings import (
    CircuitBreaker,
    Disclosure,
    Export,
    Ingest,
    Limits,
    Producer,
    Retention,
    Signing,
    Webhook,
)
from bpc_worker.config.web_settings import Api, Dashboard, Http, Public, Web
from bpc_worker.handler_api import Command

_DAY = 86400
_MIB = 1024 * 1024
_GIB = 1024 * _MIB
_postgres = kinds.url("postgresql", "postgres", libpq=True)
_sslmode = kinds.choice("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

_Reason = Annotated[
    str | None, setting(kinds.text(500), "why prod may reach it on another machine without TLS: a reason")
]


@section
class Database:
    url: Annotated[
        str | None,
        setting(
            _postgres,
            "the database; without one, dev starts an embedded PostgreSQL",
            env="BPC_DATABASE_URL",
            secret=True,
        ),
    ] = None
    direct_url: Annotated[
        str | None,
        setting(
            _postgres,
            "the database without a pooler in between, for LISTEN",
            env="BPC_DATABASE_DIRECT_URL",
            secret=True,
        ),
    ] = None
    migrate_url: Annotated[
        str | None,
        setting(
            _postgres,
            "the database as the owner of the schema, for migrations",
            env="BPC_MIGRATE_DATABASE_URL",
            secret=True,
        ),
    ] = None
    read_url: Annotated[
        str | None,
        setting(
            _postgres,
            "a replica of the database, from which the doors of `serve` read",
            env="BPC_READ_DATABASE_URL",
            secret=True,
        ),
    ] = None
    # The parts of a database URL; they end up in `url`.
    host: Annotated[
        str | None, setting(kinds.text(255), "host of the database, or folder of its socket", part=True)
    ] = None
    port: Annotated[int | None, setting(kinds.whole(1, 65535), "port of the database", part=True)] = None
    user: Annotated[str | None, setting(kinds.text(128), "user of the database", part=True)] = None
    password: Annotated[
        str | None, setting(kinds.text(1024), "password of the user", secret=True, part=True)
    ] = None
    name: Annotated[str | None, setting(kinds.text(128), "name of the database", part=True)] = None
    sslmode: Annotated[str | None, setting(_sslmode, "libpq's sslmode", part=True)] = None
    prepared_statements: Annotated[bool, setting(kinds.switch, "off behind a transaction pooler")] = True
    handler_connections: Annotated[int, setting(kinds.whole(1, 100), "connections that handlers share")] = 4
    statement_timeout_seconds: Annotated[float, setting(kinds.number(1, 3600), "limit of one statement")] = 30
    allow_plain: _Reason = None


@section
class Queue:
    enabled: Annotated[bool, setting(kinds.switch, "listen to RabbitMQ; unset: when a URL is given")]
    url: Annotated[str | None, setting(kinds.url("amqp", "amqps"), "the broker", secret=True)] = None
    exchange: Annotated[str, setting(kinds.text(127), "exchange the triggers come from")] = "bpc"
    routing_key: Annotated[str, setting(kinds.text(127), "routing key of the triggers")] = "jobs.trigger"
    allow_plain: _Reason = None


@section
class Notify:
    enabled: Annotated[
        bool, setting(kinds.switch, "listen to PostgreSQL's NOTIFY; unset: when RabbitMQ is off")
    ]


@section
class Jobs:
    poll_interval_ms: Annotated[int, setting(kinds.whole(50, 3_600_000), "pause between two looks")] = 1000
    lease_seconds: Annotated[
        float, setting(kinds.number(5, _DAY), "how long a claim lasts unless renewed")
    ] = 60
    lease_renew_seconds: Annotated[
        float, setting(kinds.number(0, _DAY, above=True), "pause between renewals")
    ] = 30
    max_attempts_default: Annotated[int, setting(kinds.whole(1, 1000), "attempts before a dead letter")] = 5
    backoff_base: Annotated[
        int, setting(kinds.whole(1, 60), "delay after attempt n: base to the power n")
    ] = 2
    backoff_max: Annotated[int, setting(kinds.whole(1, _DAY), "longest delay in seconds")] = 1024
    max_queued: Annotated[
        int,
        setting(
            kinds.whole(0, 1_000_000_000),
            "queued jobs above which no more are taken, per tenant and in all; 0: no limit",
        ),
    ] = 0
    warn_depth: Annotated[
        int, setting(kinds.whole(0, 1_000_000_000), "queued jobs above which a warning is logged; 0: never")
    ] = 0
    retention_days: Annotated[
        Mapping[str, int],
        setting(
            maps.by_type(kinds.whole(0, 36500), 90),
            "days after which a finished job is removed, per type; 0: kept; what failed always is",
        ),
    ] = {maps.OTHERS: 90}


@section
class Worker:
    id: Annotated[str, setting(kinds.text(200), "name of this worker in the rows")]
    concurrency: Annotated[int, setting(kinds.whole(1, 1000), "jobs at a time")] = 10
    processes: Annotated[int, setting(kinds.whole(1, 64), "child processes that work at a time")] = 2
    queues: Annotated[tuple[str, ...], setting(kinds.names, "queues to take jobs from")] = ("default",)
    job_timeout_seconds: Annotated[float, setting(kinds.number(0.1, _DAY), "limit of one attempt")] = 300
    shutdown_grace_seconds: Annotated[
        float,
        setting(
            kinds.number(0, 3600),
            "how long running jobs may go on after SIGTERM",
            env="BPC_SHUTDOWN_GRACE_SECONDS",
        ),
    ] = 25
    claim_bytes: Annotated[
        int, setting(kinds.whole(1024, _GIB), "payloads, as stored, that claimed jobs hold; one at least")
    ] = 8 * _MIB
    held_bytes: Annotated[
        int,
        setting(
            kinds.whole(_MIB, 1024 * _GIB),
            "bytes of large payloads and blobs that all jobs of this process hold together; others wait",
        ),
    ] = 128 * _MIB
    child_memory_mb: Annotated[int, setting(kinds.whole(128, 1_048_576), "memory of one child process")] = (
        1024
    )
    child_cpu_seconds: Annotated[float, setting(kinds.number(1, _DAY), "CPU time of one child process")] = 300
    child_idle_seconds: Annotated[
        float, setting(kinds.number(0.1, 3600), "how long a child waits for its tenant's next call")
    ] = 2
    child_account: Annotated[
        str | None,
        setting(
            kinds.text(100), "account, by name or number, of children and programs where the worker is root"
        ),
    ] = None


@section
class Reaper:
    interval_seconds: Annotated[float, setting(kinds.number(0.1, 3600), "pause between two passes")] = 15
    sla_factor: Annotated[
        Mapping[str, float],
        setting(
            maps.by_type(kinds.number(1, 1000), 6),
            "a job is overdue after its expected duration times this, per type",
        ),
    ] = {maps.OTHERS: 6.0}
    tables: Annotated[
        tuple[str, ...], setting(kinds.tables, "further tables with the lease columns, to be reaped too")
    ] = ()
    sample_interval: Annotated[
        float, setting(kinds.duration(1, 3600), "pause between two samples of queue lengths, in seconds")
    ] = 15


@section
class Health:
    require_queue: Annotated[bool, setting(kinds.switch, "not ready without the broker")] = False


@section
class Log:
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        setting(kinds.choice("debug", "info", "warning", "error"), "least level logged"),
    ] = "info"
    format: Annotated[
        Literal["auto", "json", "console"],
        setting(kinds.choice("auto", "json", "console"), "auto: console on a terminal"),
    ] = "auto"


@section
class Tracing:
    enabled: Annotated[bool, setting(kinds.switch, "a span per job, by OpenTelemetry")] = False
    endpoint: Annotated[str | None, setting(kinds.url("http", "https"), "where spans are sent (OTLP)")] = None
    allow_plain: _Reason = None


@section
class Settings:
    env: Annotated[
        Literal["dev", "prod"],
        setting(kinds.choice("dev", "prod"), "prod refuses what is meant for development"),
    ] = "dev"
    database: Database
    queue: Queue
    notify: Notify
    jobs: Jobs
    worker: Worker
    reaper: Reaper
    producer: Producer
    http: Http
    public: Public
    api: Api
    dashboard: Dashboard
    web: Web
    health: Health
    log: Log
    signing: Signing
    disclosure: Disclosure
    compiler_build_id: Annotated[
        str, setting(kinds.text(100), "the semantics passports are compiled with")
    ] = "bpc-core-2"
    ingest: Ingest
    export: Export
    limits: Limits
    retention: Retention
    tracing: Tracing
    webhook: Webhook
    circuit_breaker: CircuitBreaker
    rate_limits: Annotated[
        Mapping[str, maps.Rate],
        setting(maps.rates, "jobs per second by type, or by the name of another bucket"),
    ] = {}
    schedules: Annotated[
        Mapping[str, maps.Schedule], setting(maps.schedules, "jobs that are queued by the clock (cron, UTC)")
    ] = {}
    data_dir: Annotated[
        str | None, setting(kinds.text(4096), "where the embedded PostgreSQL keeps its data")
    ] = None
    commands: Annotated[
        Mapping[str, Command], setting(maps.commands, "programs that RUN_COMMAND may start", secret=True)
    ] = {}
    sources: Mapping[str, str]
    hints: tuple[str, ...]


KEYS = tuple(keys_of(Settings))
