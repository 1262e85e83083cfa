"""What the worker is told: defaults < file < environment < flags, as one frozen Settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Literal
from urllib.parse import quote

import msgspec

from bpc_worker.commands import Command
from bpc_worker.config_keys import DATABASE_PARTS
from bpc_worker.config_layers import Draft, take_environment, take_file, take_flags
from bpc_worker.core.build_id import COMPILER_BUILD_ID

__all__ = ["Command", "ConfigError", "Settings", "describe", "load"]

_NO_FLAGS: Mapping[str, object] = MappingProxyType({})
_PARTS = tuple(key.name for key in DATABASE_PARTS)


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
    key_id: str | None


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
    _settle_database(draft)
    _settle_queue(draft)
    _check_lease(draft)
    _check_keys(draft)
    _check_build_id(draft)
    if draft.problems:
        raise ConfigError(draft.problems)
    return _settings(draft)


def describe(settings: Settings) -> list[tuple[str, str, str]]:
    """Key, value and source of every setting; nothing in it is secret."""
    from bpc_worker.log import redact

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
        case tuple() | dict():  # of commands only the names: their environment may hold secrets
            return ", ".join(value)
        case _:
            return str(value)


def _settle_database(draft: Draft) -> None:
    """Make one URL of the parts, and refuse what has none where it needs one."""
    given = [name for name in _PARTS if draft.has(name)]
    if given and draft.has("database.url"):
        both = ", ".join(draft.whence(name) for name in given)
        whence = draft.whence("database.url")
        draft.problems.append(f"{whence} and {both}: give either the URL or its parts")
    elif given:
        _compose(draft, given)
    elif draft.values["env"] == "prod" and not draft.has("database.url"):
        draft.problems.append(
            "database.url: the embedded PostgreSQL is for development, and env is prod; "
            "set BPC_DATABASE_URL, or BPC_DB_HOST, BPC_DB_USER and BPC_DB_NAME"
        )


def _compose(draft: Draft, given: list[str]) -> None:
    missing = [part for part in ("host", "user", "name") if f"database.{part}" not in given]
    if missing:
        whence = ", ".join(draft.whence(name) for name in given)
        needed = ", ".join(f"database.{part} (BPC_DB_{part.upper()})" for part in missing)
        draft.problems.append(f"{whence}: also needs {needed}")
    else:
        draft.values["database.url"] = _database_url(draft.values)
        draft.sources["database.url"] = ", ".join(draft.sources[name] for name in given)


def _database_url(values: Mapping[str, object]) -> str:
    host, port, user, password, name, sslmode = (values[name] for name in _PARTS)
    # A colon means IPv6 here; a socket's folder goes into the host's place percent-encoded.
    place = f"[{host}]" if ":" in str(host) else _quoted(host)
    place += f":{port}" if port else ""
    login = _quoted(user) + (f":{_quoted(password)}" if password else "")
    options = f"?sslmode={sslmode}" if sslmode else ""
    return f"postgresql://{login}@{place}/{_quoted(name)}{options}"


def _quoted(part: object) -> str:
    return quote(str(part), safe="")


def _settle_queue(draft: Draft) -> None:
    has_url = draft.has("queue.url")
    if draft.values["queue.enabled"] is None:
        draft.values["queue.enabled"] = has_url
    elif draft.values["queue.enabled"] and not has_url:
        draft.problems.append(f"{draft.whence('queue.enabled')}: needs queue.url (BPC_QUEUE_URL)")
    if draft.values["notify.enabled"] is None:
        draft.values["notify.enabled"] = not draft.values["queue.enabled"]


def _check_lease(draft: Draft) -> None:
    """Two renewals must fit into a lease, so that one may fail."""
    lease, renew = "jobs.lease_seconds", "jobs.lease_renew_seconds"
    if draft.failed & {lease, renew}:
        return
    match draft.values[lease], draft.values[renew]:
        case (int() | float() as lasts, int() | float() as pause) if pause > lasts / 2:
            draft.problems.append(
                f"{draft.whence(renew)}: {_shown(pause)} is more than half of "
                f"{draft.whence(lease)}: {_shown(lasts)}"
            )


def _check_keys(draft: Draft) -> None:
    """A key and its name go together; production has none that everybody knows."""
    seed, name = "signing.private_key", "signing.key_id"
    if not draft.failed & {seed, name} and draft.has(seed) != draft.has(name):
        have, lacks = (seed, name) if draft.has(seed) else (name, seed)
        draft.problems.append(
            f"{draft.whence(have)}: also needs {lacks}; `bpc-worker keys generate` tells both"
        )
    if draft.values["env"] == "prod":
        _refuse_development_keys(draft)


def _refuse_development_keys(draft: Draft) -> None:
    from bpc_worker.keyring import DEVELOPMENT_DISCLOSURE_KEY, DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED

    known = {
        "signing.private_key": DEVELOPMENT_SEED,
        "signing.key_id": DEVELOPMENT_KEY_ID,
        "disclosure.key": DEVELOPMENT_DISCLOSURE_KEY,
    }
    draft.problems += [
        f"{draft.whence(name)}: the development key is known to everybody, and env is prod; choose another"
        for name, value in known.items()
        if draft.values[name] == value
    ]


def _check_build_id(draft: Draft) -> None:
    wanted = draft.values["compiler_build_id"]
    if "compiler_build_id" not in draft.failed and wanted != COMPILER_BUILD_ID:
        whence = draft.whence("compiler_build_id")
        draft.problems.append(
            f"{whence}: {wanted} is unknown here; this release compiles as {COMPILER_BUILD_ID}"
        )


def _settings(draft: Draft) -> Settings:
    sources = {name: draft.sources[name] for name in draft.sources if name not in _PARTS}
    tree: dict[str, object] = {"sources": sources, "hints": draft.hints}
    sections: dict[str, dict[str, object]] = {}
    for name, value in draft.values.items():
        section, _, leaf = name.rpartition(".")
        if section:
            sections.setdefault(section, {})[leaf] = value
        else:
            tree[leaf] = value
    return msgspec.convert(tree | sections, Settings)
