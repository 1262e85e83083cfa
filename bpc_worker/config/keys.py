"""Every setting: its names, what it may be, and what it is when nobody says."""

from dataclasses import dataclass

from bpc_worker.config.aliases import ALIASES, Alias
from bpc_worker.config.kinds import (
    UNFINISHED,
    Kind,
    choice,
    cidrs,
    duration,
    endings,
    file,
    folder,
    folders,
    names,
    number,
    patterns,
    ports,
    priority,
    public_key,
    secret_bytes,
    switch,
    tables,
    text,
    url,
    whole,
)
from bpc_worker.config.maps import (
    KEPT,
    OTHERS,
    by_type,
    command,
    commands,
    rates,
    retention,
    schedules,
    sealing_keys,
    seeds,
)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. Secrets are never shown, and are read from the file NAME_FILE names, too."""

    name: str
    env: str
    kind: Kind
    default: object
    help: str
    secret: bool = False
    aliases: tuple[Alias, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *(old.name for old in self.aliases if not old.is_variable))

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.env, *(old.name for old in self.aliases if old.is_variable))

    def alias(self, name: str) -> Alias:
        """The old name of that spelling; for today's, one that changes nothing."""
        return next((old for old in self.aliases if old.name == name), Alias(name))


def _key(
    name: str,
    kind: Kind,
    default: object,
    help_: str,
    *,
    env: str | None = None,
    secret: bool = False,
) -> Key:
    env = env or "BPC_" + name.replace("database.", "db.").replace(".", "_").upper()
    return Key(name, env, kind, default, help_, secret, ALIASES.get(name, ()))


_postgres = url("postgresql", "postgres", libpq=True)
_amqp = url("amqp", "amqps")
_day = 86400
_sslmode = choice("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

# The parts of a database URL; they end up in database.url.
DATABASE_PARTS = (
    _key("database.host", text(255), None, "host of the database, or folder of its socket"),
    _key("database.port", whole(1, 65535), None, "port of the database"),
    _key("database.user", text(128), None, "user of the database"),
    _key("database.password", text(1024), None, "password of the user", secret=True),
    _key("database.name", text(128), None, "name of the database"),
    _key("database.sslmode", _sslmode, None, "libpq's sslmode"),
)

KEYS = (
    _key("env", choice("dev", "prod"), "dev", "prod refuses what is meant for development"),
    _key(
        "database.url",
        _postgres,
        None,
        "the database; without one, dev starts an embedded PostgreSQL",
        env="BPC_DATABASE_URL",
        secret=True,
    ),
    _key(
        "database.direct_url",
        _postgres,
        None,
        "the database without a pooler in between, for LISTEN",
        env="BPC_DATABASE_DIRECT_URL",
        secret=True,
    ),
    _key(
        "database.migrate_url",
        _postgres,
        None,
        "the database as the owner of the schema, for migrations",
        env="BPC_MIGRATE_DATABASE_URL",
        secret=True,
    ),
    *DATABASE_PARTS,
    _key("database.prepared_statements", switch, True, "off behind a transaction pooler"),
    _key("database.handler_connections", whole(1, 100), 4, "connections that handlers share"),
    _key("database.statement_timeout_seconds", number(1, 3600), 30, "limit of one statement"),
    _key("queue.enabled", switch, None, "listen to RabbitMQ; unset: when a URL is given"),
    _key("queue.url", _amqp, None, "the broker", secret=True),
    _key("queue.exchange", text(127), "bpc", "exchange the triggers come from"),
    _key("queue.routing_key", text(127), "jobs.trigger", "routing key of the triggers"),
    _key("notify.enabled", switch, None, "listen to PostgreSQL's NOTIFY; unset: when RabbitMQ is off"),
    _key("jobs.poll_interval_ms", whole(50, 3_600_000), 1000, "pause between two looks"),
    _key("jobs.lease_seconds", number(5, _day), 60, "how long a claim lasts unless renewed"),
    _key("jobs.lease_renew_seconds", number(0, _day, above=True), 30, "pause between renewals"),
    _key("jobs.max_attempts_default", whole(1, 1000), 5, "attempts before a dead letter"),
    _key("jobs.backoff_base", whole(1, 60), 2, "delay after attempt n: base to the power n"),
    _key("jobs.backoff_max", whole(1, _day), 1024, "longest delay in seconds"),
    _key(
        "jobs.max_queued",
        whole(0, 1_000_000_000),
        0,
        "queued jobs above which no more are taken, per tenant and in all; 0: no limit",
    ),
    _key(
        "jobs.warn_depth",
        whole(0, 1_000_000_000),
        0,
        "queued jobs above which a warning is logged; 0: never",
    ),
    _key(
        "jobs.retention_days",
        by_type(whole(0, 36500), 0),
        {OTHERS: 0},
        "days after which a finished job may be removed, per type; 0: kept; dead letters always are",
    ),
    _key("worker.id", text(200), None, "name of this worker in the rows"),
    _key("worker.concurrency", whole(1, 1000), 10, "jobs at a time"),
    _key("worker.processes", whole(1, 64), 2, "child processes for CPU-heavy work"),
    _key("worker.queues", names, ("default",), "queues to take jobs from"),
    _key("worker.job_timeout_seconds", number(0.1, _day), 300, "limit of one attempt"),
    _key(
        "worker.shutdown_grace_seconds",
        number(0, 3600),
        25,
        "how long running jobs may go on after SIGTERM",
        env="BPC_SHUTDOWN_GRACE_SECONDS",
    ),
    _key("worker.child_memory_mb", whole(64, 1_048_576), 1024, "memory of one child process"),
    _key("worker.child_cpu_seconds", number(1, _day), 300, "CPU time of one child process"),
    _key("reaper.interval_seconds", number(0.1, 3600), 15, "pause between two passes"),
    _key(
        "reaper.sla_factor",
        by_type(number(1, 1000), 6),
        {OTHERS: 6.0},
        "a job is overdue after its expected duration times this, per type",
    ),
    _key("reaper.tables", tables, (), "further tables with the lease columns, to be reaped too"),
    _key(
        "reaper.sample_interval",
        duration(1, 3600),
        15,
        "pause between two samples of queue lengths, in seconds",
    ),
    _key("producer.scan_dir", folder, None, "the inbox: folder that documents and builds are taken from"),
    _key("producer.include_globs", patterns, ("*",), "files to take; with a / in it: of the whole place"),
    _key("producer.exclude_globs", patterns, UNFINISHED, "files and folders to leave alone"),
    _key("producer.default_priority", priority, "normal", "priority of the jobs it makes"),
    _key("producer.high_priority_exts", endings, (), "endings of files whose jobs have priority high"),
    _key("producer.rate_limit_per_sec", number(0, 1_000_000), 0, "files a second, 0: no limit"),
    _key("producer.rate_limit_key", text(200), "producer", "producers with the same key share that rate"),
    _key("producer.scan_interval_seconds", number(0.05, 3600), 5, "pause between two looks at the inbox"),
    _key("http.host", text(255), "127.0.0.1", "address of probes and metrics"),
    _key("http.port", whole(0, 65535), 8080, "port of probes and metrics; 0: any free one"),
    _key("health.require_queue", switch, False, "not ready without the broker"),
    _key("log.level", choice("debug", "info", "warning", "error"), "info", "least level logged"),
    _key("log.format", choice("auto", "json", "console"), "auto", "auto: console on a terminal"),
    _key(
        "signing.private_key",
        secret_bytes(32, 32),
        None,
        "the Ed25519 seed that passports are signed with; without one, dev uses a key that everybody knows",
        env="BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64",
        secret=True,
    ),
    _key("signing.key_id", text(200), None, "name of that key in the registry"),
    _key(
        "signing.command",
        command,
        None,
        "a program that signs, where the private key is in an HSM or KMS; see docs/keys.md",
        secret=True,
    ),
    _key("signing.public_key", public_key, None, "public half of the key that signing.command signs with"),
    _key(
        "signing.former_keys",
        seeds,
        {},
        "key ids and seeds that only sign what names them: what was compiled before a rotation",
        secret=True,
    ),
    _key(
        "disclosure.key",
        secret_bytes(32, 1024),
        None,
        "what the salts of withheld fields are made from; the same for all workers, for ever",
        env="BPC_DISCLOSURE_KEY",
        secret=True,
    ),
    _key("compiler_build_id", text(100), "bpc-core-1", "the semantics passports are compiled with"),
    _key("ingest.folders", folders, (), "folders INGEST_DOCUMENT may read files from"),
    _key("limits.document_bytes", whole(1, 1_073_741_824), 20 * 1024 * 1024, "largest document"),
    _key("limits.payload_bytes", whole(1024, 16_777_216), 131_072, "largest payload of a passport"),
    _key("limits.proof_bytes", whole(1024, 67_108_864), 262_144, "largest proof of a passport"),
    _key("limits.receipt_bytes", whole(1024, 1_048_576), 16_384, "largest signed receipt"),
    _key(
        "retention.days",
        retention,
        KEPT,
        "days after which RETENTION_SWEEP removes what nothing rests on, per kind; 0: kept",
    ),
    _key("tracing.enabled", switch, False, "a span per job, by OpenTelemetry"),
    _key("tracing.endpoint", url("http", "https"), None, "where spans are sent (OTLP)"),
    _key(
        "webhook.sealing_keys",
        sealing_keys,
        {},
        "what the secrets of webhooks are sealed with; without one, dev uses a key that everybody knows",
        secret=True,
    ),
    _key(
        "webhook.endpoint_concurrency", whole(1, 1000), 4, "deliveries to one endpoint at a time, per worker"
    ),
    _key(
        "webhook.disable_after",
        duration(1, 365 * _day),
        5 * _day,
        "seconds of nothing but failures after which an endpoint is switched off",
    ),
    _key("webhook.ports", ports, (443,), "ports that webhooks may be sent to"),
    _key("webhook.allow_cidrs", cidrs, (), "networks that are not public and are allowed, not in prod"),
    _key("webhook.ca_file", file, None, "certificate authorities (PEM) to trust beside the system's"),
    _key(
        "circuit_breaker.failure_threshold",
        number(0, 1, above=True),
        0.5,
        "share of failures that opens a webhook's breaker",
    ),
    _key("circuit_breaker.window", duration(1, 3600), 60, "seconds that the share is taken over"),
    _key("circuit_breaker.cooldown_period", duration(1, _day), 30, "seconds that it stays open"),
    _key("circuit_breaker.min_samples", whole(1, 10_000), 10, "calls without which it never opens"),
    _key("circuit_breaker.half_open_probes", whole(1, 100), 1, "calls let through after the cooldown"),
    _key("rate_limits", rates, {}, "jobs per second by type, or by the name of another bucket"),
    _key("schedules", schedules, {}, "jobs that are queued by the clock (cron, UTC)"),
    _key("data_dir", text(4096), None, "where the embedded PostgreSQL keeps its data"),
    _key("commands", commands, {}, "programs that RUN_COMMAND may start", secret=True),
)
