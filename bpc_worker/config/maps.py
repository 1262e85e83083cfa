"""Settings that are mappings: commands, rates, schedules, and numbers per job type."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

import msgspec

from bpc_worker.config.kinds import Kind, NotAllowedError, Schema, decoded, secret_bytes
from bpc_worker.domain.tokens import SCOPES
from bpc_worker.handler_api import Command
from bpc_worker.jobs.cron import Cron, CronError

T = TypeVar("T")

# What RETENTION_SWEEP removes, and how long it is kept at least; the functions of the database know the same.
FEWEST_DAYS = {"drafts": 30, "documents": 30, "deliveries": 30, "passports": 3650}
KEPT = dict.fromkeys(FEWEST_DAYS, 0)
_MOST_DAYS = 36500

OTHERS = "*"  # in a mapping by type: every type that is not named
_SEED = secret_bytes(32, 32)
_NAME = "[a-z][a-z0-9_-]{0,63}", "the name must match"
_JOB_TYPE = "[A-Z][A-Z0-9_]{2,63}", "a job type matches"
_KEY_NAME = "[A-Za-z0-9._-]{1,100}", "the name of a key matches"

_Text = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*$")]
_Path = Annotated[str, msgspec.Meta(pattern=r"^/[^\0]*$")]
_Variable = Annotated[str, msgspec.Meta(pattern=r"^[^\0=]+$")]
_TenantName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Positive = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A token bucket: how fast it fills, and how much it holds."""

    per_second: float
    burst: float


class Schedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One job at every tick of the cron expression, in UTC."""

    cron: str
    type: str
    payload: dict[str, object] = {}
    tenant: _TenantName | None = None
    queue: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None

    def __repr__(self) -> str:  # a payload may hold secrets
        return (
            f"Schedule(cron={self.cron!r}, type={self.type!r}, tenant={self.tenant!r}, queue={self.queue!r})"
        )


class ProgramEntry(msgspec.Struct, forbid_unknown_fields=True):
    argv: Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1)]
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=86400)] = 60
    memory_mb: Annotated[int, msgspec.Meta(ge=16, le=1_048_576)] | None = None
    cpu_seconds: Annotated[int, msgspec.Meta(ge=1, le=86400)] | None = None
    env: dict[_Variable, _Text] = {}
    cwd: _Path | None = None


class _CommandEntry(ProgramEntry, forbid_unknown_fields=True):
    args: tuple[str, ...] = ()
    tenants: Annotated[tuple[_TenantName, ...], msgspec.Meta(min_length=1)] | None = None
    network: bool = False


class _RateEntry(msgspec.Struct, forbid_unknown_fields=True):
    per_second: _Positive
    burst: Annotated[float, msgspec.Meta(ge=1, le=1_000_000)] | None = None


def read_json(value: object) -> object:
    """A text is JSON, as it comes from the environment."""
    found: object = json.loads(value) if isinstance(value, str) else value
    return found


def _mapping(value: object, entry: Callable[[object, object], T], *, secret: bool = False) -> dict[str, T]:
    """Every entry by its name, or everything that is wrong with them.

    What is wrong with a secret is told by its number: where a name should be, there may be a key.
    """
    entries = read_json(value)
    if not isinstance(entries, dict):
        raise NotAllowedError("it is not a mapping")
    found: dict[str, T] = {}
    wrong: list[str] = []
    for number, (name, each) in enumerate(entries.items(), start=1):
        try:
            found[name] = entry(name, each)
        except (NotAllowedError, msgspec.ValidationError) as error:
            if secret:
                raise NotAllowedError(f"key {number}: {error}") from None
            wrong.append(f"{name}: {error}")
    if wrong:
        raise NotAllowedError("; ".join(wrong))
    return found


def _check_name(name: object, pattern: str, what: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        raise NotAllowedError(f"{what} ^{pattern}$")


def _command(name: object, entry: object) -> Command:
    _check_name(name, *_NAME)
    command = program(entry, _CommandEntry)
    for place, pattern in enumerate(command.args):
        try:
            re.compile(pattern)
        except re.error as error:
            raise NotAllowedError(f"args[{place}] is no regular expression: {error}") from error
    return command


def program(entry: object, shape: type[ProgramEntry] = ProgramEntry) -> Command:
    parsed = msgspec.convert(entry, shape)
    if not parsed.argv[0].startswith("/"):
        raise NotAllowedError("argv[0] must be an absolute path")
    return Command(**msgspec.structs.asdict(parsed))


def _rate(name: object, entry: object) -> Rate:
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():  # noqa: PLR2004
        raise NotAllowedError("the name of a bucket has 1 to 200 printable characters")
    plain = isinstance(entry, int | float)
    parsed = msgspec.convert({"per_second": entry} if plain else entry, _RateEntry)
    return Rate(per_second=parsed.per_second, burst=parsed.burst or max(1.0, parsed.per_second))


def _schedule(name: object, entry: object) -> Schedule:
    _check_name(name, *_NAME)
    parsed = msgspec.convert(entry, Schedule)
    try:
        Cron.parse(parsed.cron)
    except CronError as error:
        raise NotAllowedError(str(error)) from error
    _check_name(parsed.type, *_JOB_TYPE)
    return parsed


def _seed(name: object, seed: object) -> object:
    if not isinstance(name, str) or not 0 < len(name) <= 200:  # noqa: PLR2004
        raise NotAllowedError("a key id has 1 to 200 characters")
    try:
        return _SEED.parse(seed)
    except ValueError as error:  # whose words must not show what was given
        detail = f" ({error})" if isinstance(error, NotAllowedError) else ""
        raise NotAllowedError(f"not {_SEED.allowed}{detail}") from None


def _sealing_key(name: object, entry: object) -> bytes:
    _check_name(name, *_KEY_NAME)
    try:
        return decoded(entry, 32, 32)
    except ValueError as error:
        raise NotAllowedError(
            str(error) if isinstance(error, NotAllowedError) else "it is not base64"
        ) from None


def _sealing_keys(value: object) -> dict[str, bytes]:
    """Also as NAME:BASE64,NAME:BASE64, which is easier to put into a variable."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        value = {name.strip(): key for name, _, key in (part.partition(":") for part in value.split(","))}
    return _mapping(value, _sealing_key, secret=True)


def _days(kind: object, value: object) -> int:
    if kind not in FEWEST_DAYS:
        raise NotAllowedError(f"there are {', '.join(FEWEST_DAYS)}")
    least = FEWEST_DAYS[str(kind)]
    days = msgspec.convert(value, int)
    if days != 0 and not least <= days <= _MOST_DAYS:
        raise NotAllowedError(f"0, or {least} to {_MOST_DAYS}")
    return days


def _scopes(name: object, value: object) -> tuple[str, ...]:
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():  # noqa: PLR2004
        raise NotAllowedError("the name of a group has 1 to 200 printable characters")
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given or not set(given) <= set(SCOPES):
        raise NotAllowedError(f"a list of {', '.join(SCOPES)}")
    return tuple(given)


def by_type(kind: Kind, others: float) -> Kind:
    """A number for every job type: one for all, or a mapping whose `*` is for those it does not name."""

    def entry(name: object, value: object) -> object:
        if name != OTHERS:
            _check_name(name, *_JOB_TYPE)
        try:
            return kind.parse(value)
        except ValueError:
            raise NotAllowedError(f"{value!r} is not {kind.allowed}") from None

    def parse(value: object) -> Mapping[str, object]:
        many = isinstance(value, dict) or (isinstance(value, str) and value.lstrip().startswith("{"))
        return {OTHERS: others} | _mapping(value if many else {OTHERS: value}, entry)

    words = f"{kind.allowed}, or a mapping (JSON in the environment) of job types to it, * for the others"
    return Kind(words, parse, {"anyOf": [kind.schema, _by_name(kind.schema)]})


def _by_name(schema: Schema) -> Schema:
    """A mapping of names to that."""
    return {"type": "object", "additionalProperties": schema}


def _object(**properties: str) -> Schema:
    """An object with these properties and types; one with a ! is needed."""
    shape = {name: {"type": kind.rstrip("!")} for name, kind in properties.items()}
    needed = [name for name, kind in properties.items() if kind.endswith("!")]
    return {"type": "object", "properties": shape, "required": needed, "additionalProperties": False}


_PROGRAM_WORDS = (
    "argv: [/absolute/path, …], timeout_seconds: 60, memory_mb: null, cpu_seconds: null, env: {}, cwd: null"
)
_PROGRAM = {
    "argv": "array!",
    "timeout_seconds": "number",
    "memory_mb": "integer",
    "cpu_seconds": "integer",
    "env": "object",
    "cwd": "string",
}
_COMMAND = _object(**_PROGRAM, args="array", tenants="array", network="boolean")
_RATE = {"anyOf": [{"type": "number"}, _object(per_second="number!", burst="number")]}
_SCHEDULE = _object(cron="string!", type="string!", payload="object", tenant="string", queue="string")
_MAPPING = "a mapping (JSON in the environment) of"

command = Kind(
    f"(JSON in the environment) {{{_PROGRAM_WORDS}}}",
    lambda value: program(read_json(value), ProgramEntry),
    _object(**_PROGRAM),
)
commands = Kind(
    f"{_MAPPING} names to {{{_PROGRAM_WORDS}, args: [pattern of each, …], tenants: null, network: false}}",
    lambda value: _mapping(value, _command),
    _by_name(_COMMAND),
)
seeds = Kind(
    f"{_MAPPING} key ids to {_SEED.allowed}",
    lambda value: _mapping(value, _seed, secret=True),
    _by_name(_SEED.schema),
)
retention = Kind(
    f"{_MAPPING} " + ", ".join(f"{kind} to 0 or {least} and more" for kind, least in FEWEST_DAYS.items()),
    lambda value: KEPT | _mapping(value, _days),
    _object(**dict.fromkeys(FEWEST_DAYS, "integer")),
)
rates = Kind(
    f"{_MAPPING} job types, or other buckets, to {{per_second: 5, burst: 10}}",
    lambda value: _mapping(value, _rate),
    _by_name(_RATE),
)
schedules = Kind(
    f'{_MAPPING} names to {{cron: "0 3 * * *", type: JOB_TYPE, payload: {{}}, tenant: name, queue: default}}',
    lambda value: _mapping(value, _schedule),
    _by_name(_SCHEDULE),
)
groups = Kind(
    f"{_MAPPING} names of groups to a list of what they may: {', '.join(SCOPES)}",
    lambda value: _mapping(value, _scopes),
    _by_name({"type": "array", "items": {"enum": [*SCOPES]}}),
)
sealing_keys = Kind(
    "NAME:KEY,NAME:KEY or a mapping of names to keys, each of 32 bytes in base64",
    _sealing_keys,
    _by_name(_SEED.schema),
)
