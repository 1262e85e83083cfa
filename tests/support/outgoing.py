"""Every hash in texts that leave the house, with what is hashed and with the salt in it."""

import re
from base64 import b32decode, b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bpc_worker.core.base import base64url
from bpc_worker.core.base.hashing import sha256

_HEX = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{64}(?![0-9A-Fa-f])")
_BASE32 = re.compile(r"(?<![A-Z2-7])[A-Z2-7]{52}(?![A-Z2-7])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=(?!=)")
_BASE64URL = re.compile(r"[A-Za-z0-9_-]{20,}")
_BASE64URL_HASH = 43  # characters
_OPEN, _KEYED = "none: what it is of is public", "a secret key"


def values_in(text: str) -> set[bytes]:
    """All values of 32 bytes in any of their spellings, also inside what is base64url of a text."""
    found = {bytes.fromhex(hit) for hit in _HEX.findall(text)}
    found |= {b32decode(f"{hit}====") for hit in _BASE32.findall(text)}
    found |= {b64decode(hit) for hit in _BASE64.findall(text)}
    for hit in _BASE64URL.findall(text):
        try:
            inside = base64url.decode(hit)
        except ValueError:
            continue
        if len(hit) == _BASE64URL_HASH:
            found.add(inside)
        found |= values_in(_as_text(inside))
    return found


def _as_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


@dataclass(slots=True)
class Leaving:
    """What leaves about one passport, and what the house knows of the hashes in it."""

    texts: dict[str, str] = field(default_factory=dict)
    preimages: dict[str, bytes] = field(default_factory=dict)
    salts: dict[str, bytes] = field(default_factory=dict)
    open: dict[str, bytes] = field(default_factory=dict)  # may leave without a salt: rules, public keys
    keyed: dict[str, bytes] = field(default_factory=dict)  # no hash: made with a secret

    def values(self) -> set[bytes]:
        return set().union(*map(values_in, self.texts.values()))


@dataclass(frozen=True, slots=True)
class Listed:
    value: bytes
    leaves_in: tuple[str, ...]
    preimage: str
    salt: str | None  # None: it has none, or nobody knows what it is of

    def __str__(self) -> str:
        return f"{self.value.hex()}  {self.preimage}  [{self.salt}]  {', '.join(self.leaves_in)}"


def listing(leaving: Leaving) -> list[Listed]:
    """Every value of 32 bytes that leaves."""
    salt_of = _salted(leaving)
    names = {sha256(data): name for name, data in leaving.preimages.items()}
    free = {value: name for name, value in leaving.open.items()}
    keyed = {value: name for name, value in leaving.keyed.items()}
    places: dict[bytes, list[str]] = {}
    for where, text in leaving.texts.items():
        for value in values_in(text):
            places.setdefault(value, []).append(where)
    listed = []
    for value, found_in in sorted(places.items(), key=lambda each: (each[1], each[0])):
        name = names.get(value) or free.get(value) or keyed.get(value) or "?"
        salt = salt_of.get(name) or (value in free and _OPEN) or (value in keyed and _KEYED) or None
        listed.append(Listed(value, tuple(found_in), name, salt))
    return listed


def _salted(leaving: Leaving) -> dict[str, str]:
    """Which preimages have a salt in them, and which: their own, or that of another hash in them."""
    salts = dict(leaving.salts)
    found: dict[str, str] = {}
    while fresh := dict(_with_a_salt(leaving.preimages, found, salts)):
        found |= fresh
        salts |= {f"{found[name]}, by {name}": sha256(leaving.preimages[name]) for name in fresh}
    return found


def _with_a_salt(
    preimages: Mapping[str, bytes], known: Iterable[str], salts: Mapping[str, bytes]
) -> Iterator[tuple[str, str]]:
    for name, data in preimages.items():
        if name not in known:
            read = data + _decoded(data)
            hit = next((salt for salt, value in salts.items() if _holds(read, value)), None)
            if hit is not None:
                yield name, hit


def _decoded(data: bytes) -> bytes:
    """A disclosure is the text of a text; there may be one in each line."""
    try:
        return b"\n".join(map(base64url.decode, data.decode("ascii").splitlines()))
    except ValueError:
        return b""


def _holds(data: bytes, value: bytes) -> bool:
    spellings = (value, value.hex().encode(), base64url.encode(value).encode())
    return any(spelling in data for spelling in spellings)


def shared(one: Leaving, other: Leaving) -> set[bytes]:
    """Values of 32 bytes that leave with both, but for those that may."""
    return one.values() & other.values() - {*one.open.values()}
