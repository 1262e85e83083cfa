"""Every setting: its names, what it may be, and what it is when nobody says."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from bpc_worker.commands import Command
from bpc_worker.jobs.model import Priority

Parse = Callable[[object], object]


class NotAllowedError(ValueError):
    """A value that is not allowed, with more to say than the list of what is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be: in words, and as a function that raises ValueError otherwise."""

    allowed: str
    parse: Parse


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. Secrets are never shown, and are read from the file NAME_FILE names, too."""

    name: str
    env: str
    kind: Kind
    default: object
    help: str
    secret: bool = False
    aliases: tuple[str, ...] = ()  # old names, of variables or in the file

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.env, *self.aliases)


def whole(low: int, high: int) -> Kind:
    def parse(value: object) -> int:
        number = int(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise ValueError
        return number

    return Kind(f"a whole number from {low} to {high}", parse)


def number(low: float, high: float, *, above: bool = False) -> Kind:
    """A number from `low` (or above it) to `high`."""

    def fits(number: float) -> bool:
        return low <= number <= high and not (above and number == low)

    def parse(value: object) -> float:
        number = float(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float) or not fits(number):
            raise ValueError
        return float(number)

    return Kind(f"a number {'above' if above else 'from'} {low:g} to {high:g}", parse)


def text(longest: int) -> Kind:
    def parse(value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
            raise ValueError
        return value

    return Kind(f"text of 1 to {longest} printable characters (in YAML, quote numbers)", parse)


def choice(*options: str) -> Kind:
    def parse(value: object) -> str:
        word = str(value).strip().lower()
        if word not in options:
            raise ValueError
        return word

    return Kind(" or ".join(options), parse)


_SWITCH = {"true": True, "1": True, "yes": True, "on": True}
_SWITCH |= {"false": False, "0": False, "no": False, "off": False}


def _switch(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _SWITCH:
        raise ValueError
    return _SWITCH[word]


switch = Kind("true or false (also 1/0, yes/no, on/off)", _switch)


def url(*schemes: str) -> Kind:
    # Strict about user, password and port: what is not a password here would be shown as a host.
    host = r"(?:\[[^\]\s]+\]|[^\s:/?#@,\[\]]*)(?::\d{1,5})?"
    start = "|".join(schemes)
    shape = re.compile(rf"(?:{start})://(?:[^\s@/?#]*@)?{host}(?:,{host})*(?:[/?#]\S*)?")

    def parse(value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or not shape.fullmatch(value):
            raise ValueError
        return value

    begins = " or ".join(f"{scheme}://" for scheme in schemes)
    return Kind(f"a URL that begins with {begins}, user and password percent-encoded", parse)


_name = text(100)


def _names(value: object) -> tuple[str, ...]:
    return _names_of(value, _name)


def _names_of(value: object, kind: Kind) -> tuple[str, ...]:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts:
        raise ValueError
    for part in parts:
        kind.parse(part)
    return tuple(dict.fromkeys(parts))


names = Kind("names of 1 to 100 characters, a list or separated by commas", _names)


_Text = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*$")]
_Path = Annotated[str, msgspec.Meta(pattern=r"^/[^\0]*$")]
_Variable = Annotated[str, msgspec.Meta(pattern=r"^[^\0=]+$")]


class _CommandEntry(msgspec.Struct, forbid_unknown_fields=True):
    argv: Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1)]
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=86400)] = 60
    memory_mb: Annotated[int, msgspec.Meta(ge=16, le=1_048_576)] | None = None
    cpu_seconds: Annotated[int, msgspec.Meta(ge=1, le=86400)] | None = None
    env: dict[_Variable, _Text] = {}
    cwd: _Path | None = None


def _command(name: object, entry: object) -> Command:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", name):
        raise NotAllowedError("the name must match ^[a-z][a-z0-9_-]{0,63}$")
    parsed = msgspec.convert(entry, _CommandEntry)
    if not parsed.argv[0].startswith("/"):
        raise NotAllowedError("argv[0] must be an absolute path")
    return Command(**msgspec.structs.asdict(parsed))


def _commands(value: object) -> Mapping[str, Command]:
    entries: object = json.loads(value) if isinstance(value, str) else value
    if not isinstance(entries, dict):
        raise NotAllowedError("it is not a mapping")
    found: dict[str, Command] = {}
    wrong: list[str] = []
    for name, entry in entries.items():
        try:
            found[name] = _command(name, entry)
        except (NotAllowedError, msgspec.ValidationError) as error:
            wrong.append(f"{name}: {error}")
    if wrong:
        raise NotAllowedError("; ".join(wrong))
    return found


def secret_bytes(least: int, most: int) -> Kind:
    """Random bytes in base64."""

    def parse(value: object) -> bytes:
        found = b64decode(str(value).strip(), validate=True)
        if not least <= len(found) <= most:
            raise NotAllowedError(f"it has {len(found)} bytes")
        return found

    length = f"{least}" if least == most else f"{least} to {most}"
    return Kind(f"exactly {length} bytes in base64" if least == most else f"{length} bytes in base64", parse)


def _folders(value: object) -> tuple[str, ...]:
    found = _names_of(value, text(4096))
    for folder in found:
        if not folder.startswith("/"):
            raise NotAllowedError(f"{folder} is not an absolute path")
    return found


folders = Kind("absolute paths of folders, a list or separated by commas", _folders)


def _folder(value: object) -> str:
    [found] = _folders([value])
    return found


folder = Kind("the absolute path of a folder", _folder)


def _patterns(value: object) -> tuple[str, ...]:
    return () if value == [] else _names_of(value, text(200))


patterns = Kind("patterns like *.csv, a list or separated by commas", _patterns)


def _endings(value: object) -> tuple[str, ...]:
    return tuple("." + ending.lower().removeprefix(".") for ending in _patterns(value))


endings = Kind("endings of file names like .json, a list or separated by commas", _endings)


def _priority(value: object) -> str:
    return Priority.named(value).label


priority = Kind("critical, high, normal or low (or 0 to 3)", _priority)


commands = Kind(
    "a mapping (JSON in the environment) of names to "
    "{argv: [/absolute/path, …], timeout_seconds: 60, memory_mb: null, cpu_seconds: null, "
    "env: {}, cwd: null}",
    _commands,
)


def _key(
    name: str,
    kind: Kind,
    default: object,
    help_: str,
    *,
    env: str | None = None,
    secret: bool = False,
    aliases: tuple[str, ...] = (),
) -> Key:
    env = env or "BPC_" + name.replace("database.", "db.").replace(".", "_").upper()
    return Key(name, env, kind, default, help_, secret, aliases)


_postgres = url("postgresql", "postgres")
# What is being written, or was left by a program; names that begin with a dot are left alone anyway.
UNFINISHED = (
    "*.tmp",
    "*.part",
    "*.partial",
    "*.crdownload",
    "*.filepart",
    "*.swp",
    "*~",
    "Thumbs.db",
    "desktop.ini",
)
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
        aliases=("DATABASE_URL",),
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
    _key("worker.id", text(200), None, "name of this worker in the rows", aliases=("WORKER_ID",)),
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
    _key("data_dir", text(4096), None, "where the embedded PostgreSQL keeps its data"),
    _key("commands", commands, {}, "programs that RUN_COMMAND may start", secret=True),
)
