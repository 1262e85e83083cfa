"""Key registries and signing seeds as files."""

import re
import secrets
from base64 import b64decode, b64encode, urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bpc_worker.core.base import canonical_json, signing
from bpc_worker.core.base.hashing import sha256
from bpc_worker.files.reading import read_at_most
from bpc_worker.files.writing import whole_file

_MAX_REGISTRY_BYTES = 1024 * 1024
_HEX = re.compile(r"[0-9a-fA-F]{64}")


class KeyFileError(Exception):
    """What is wrong with a key file, in words that show no secret."""


class Entry(msgspec.Struct, frozen=True):
    key_id: str
    public_key: str  # base64 or hex
    status: signing.KeyStatus
    purposes: frozenset[signing.Purpose] = signing.USUAL_PURPOSES


class _File(msgspec.Struct, frozen=True):
    keys: list[Entry]
    issuers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The public keys that count, and for whom they speak: https://HOST of unique identifiers."""

    registry: signing.KeyRegistry
    issuers: tuple[str, ...]


def read_key_file(path: Path) -> KeyFile:
    """`{"issuers": […], "keys": [{"key_id", "public_key", "purposes", "status"}]}`."""
    try:
        found = msgspec.json.decode(read_at_most(path, _MAX_REGISTRY_BYTES), type=_File)
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{path}: {error}") from error
    keys: dict[str, signing.RegisteredKey] = {}
    for at, entry in enumerate(found.keys):
        if not entry.key_id or entry.key_id in keys:
            raise KeyFileError(f"{path}: keys[{at}]: key_id {entry.key_id!r} is empty or there twice")
        keys[entry.key_id] = signing.RegisteredKey(
            public_key(entry.public_key, f"{path}: keys[{at}]: public_key"), entry.status, entry.purposes
        )
    return KeyFile(signing.KeyRegistry(keys), found.issuers)


def public_key(text: str, where: str) -> bytes:
    """Its 32 bytes, written in base64 or hex."""
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    try:
        decoded = b64decode(text, validate=True)
    except ValueError:
        decoded = b""
    if len(decoded) != signing.KEY_SIZE:
        raise KeyFileError(f"{where} is not {signing.KEY_SIZE} bytes in base64 or hex")
    return decoded


def new_seed() -> bytes:
    return secrets.token_bytes(signing.SEED_SIZE)


def thumbprint(public_key: bytes) -> str:
    """RFC 7638, of the key as an OKP JWK (RFC 8037)."""
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": _base64url(public_key)}
    return _base64url(sha256(canonical_json.encode(jwk)))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def write_seed(path: Path, seed: bytes) -> None:
    """Readable by its owner alone from its first moment; an existing file is never touched."""
    try:
        with whole_file(path, mode=0o600) as file:
            file.write(f"{base64(seed)}\n".encode("ascii"))
    except FileExistsError as error:
        raise KeyFileError(f"{path} exists already, and a key that signs is never overwritten") from error
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror or error}") from error


def write_registry(path: Path, text: str) -> None:
    """In one step: whoever reads it meanwhile finds the old one or the new one."""
    try:
        with whole_file(path, mode=0o644, replace=True) as file:  # public keys, for everybody who verifies
            file.write(text.encode())
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror or error}") from error
