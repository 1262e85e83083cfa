"""The setting `signing.keys`: a signing key for each tenant."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from bpc_worker.config.kinds import Kind, NotAllowedError, decoded, public_key, public_key_text
from bpc_worker.config.maps import command, program, read_json
from bpc_worker.handler_api import Command

_MOST_SEED_BYTES = 1024
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant: _Name
    key_id: _Name
    private_key_file: str | None = None
    command: dict[str, object] | None = None
    public_key: str | None = None


@dataclass(frozen=True, slots=True)
class TenantKey:
    """Either a seed, or a program and the public half of its key."""

    tenant: str  # its id or its name
    key_id: str
    seed: bytes | None = None
    command: Command | None = None
    public_key: str | None = None

    def __str__(self) -> str:
        return self.tenant

    def __repr__(self) -> str:
        return f"TenantKey(tenant={self.tenant!r}, key_id={self.key_id!r})"


def _parse(value: object) -> tuple[TenantKey, ...]:
    entries = read_json(value)
    if not isinstance(entries, list | tuple):
        raise NotAllowedError("it is not a list")
    found: dict[str, TenantKey] = {}
    for number, each in enumerate(entries, start=1):
        try:
            entry = msgspec.convert(each, _Entry)
            key = _key(entry)
        except (NotAllowedError, msgspec.ValidationError) as error:
            raise NotAllowedError(f"key {number}: {error}") from None
        if entry.tenant in found:
            raise NotAllowedError(f"key {number}: {entry.tenant} has one already")
        found[entry.tenant] = key
    seeds = [key.seed for key in found.values() if key.seed is not None]
    if len(set(seeds)) < len(seeds):
        raise NotAllowedError("two tenants have the same key; `bpc-worker keys generate` makes another")
    return tuple(found.values())


def _key(entry: _Entry) -> TenantKey:
    match entry:
        case _Entry(private_key_file=str(path), command=None, public_key=None):
            return TenantKey(entry.tenant, entry.key_id, seed=_seed(path))
        case _Entry(private_key_file=None, command=dict(argv), public_key=str(text)):
            return TenantKey(entry.tenant, entry.key_id, command=program(argv), public_key=_public(text))
        case _:
            raise NotAllowedError("it has either private_key_file, or command and public_key")


def _seed(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return decoded(file.read(_MOST_SEED_BYTES).decode("ascii"), 32, 32)
    except OSError as error:
        raise NotAllowedError(f"private_key_file {path}: {error.strerror}") from None
    except ValueError:  # whose words must not show what is in it
        raise NotAllowedError(f"private_key_file {path}: not exactly 32 bytes in base64") from None


def _public(text: str) -> str:
    try:
        return public_key_text(text)
    except ValueError:
        raise NotAllowedError(f"public_key is not {public_key.allowed}") from None


tenant_keys = Kind(
    "a list (JSON in the environment) of {tenant: name, key_id: name, private_key_file: /path}, "
    "or with command and public_key",
    _parse,
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "tenant": {"type": "string"},
                "key_id": {"type": "string"},
                "private_key_file": {"type": "string"},
                "command": command.schema,
                "public_key": {"type": "string"},
            },
            "required": ["tenant", "key_id"],
            "additionalProperties": False,
        },
    },
)
