"""The disclosures of BPC-VIEW-1 (RFC 9901): one for each field, and around them one for each set.

What is signed holds one digest per set, of a disclosure that holds the digests of its fields: so a view does
not tell how much others may see.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bpc_worker.core.base import base64url
from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import (
    HASH_SIZE,
    SALT_SIZE,
    FormError,
    below,
    members,
    parse_constant,
    parse_list,
    parse_text,
    read,
    shown,
)
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.salts import SaltSource

STATEMENTS = "compliance."  # before the code of a statement, as no field's path begins
_SET = "of"
_PARTS = 3  # salt, name, value


@dataclass(frozen=True, slots=True)
class Shown:
    """A field or a statement as readers see it, and who may."""

    path: str
    audiences: tuple[str, ...]
    value: object
    salt: bytes


@dataclass(frozen=True, slots=True)
class Disclosed:
    """The claim `fields` in canonical bytes, and all disclosures: each set's before those of its fields."""

    fields: bytes
    disclosures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set of audiences as the claim `fields` names it."""

    audiences: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Disclosure:
    salt: bytes
    name: str
    value: object


def disclose(items: Iterable[Shown], sets: Iterable[tuple[str, ...]], salts: SaltSource) -> Disclosed:
    """Every set has its disclosure, whether or not something is in it: one that comes and goes would tell."""
    held: dict[tuple[str, ...], list[Shown]] = {names: [] for names in sorted(set(sets)) if names}
    for item in items:
        if item.audiences:
            held[item.audiences].append(item)
    claim: list[JsonValue] = []
    lines: list[str] = []
    for names, shown_to in held.items():
        # Python compares code points, which is the order of UTF-8 bytes.
        ordered = sorted(shown_to, key=lambda item: item.path)
        texts = [_text(item.salt, item.path, item.value) for item in ordered]
        around = _text(salts.set_of(names), _SET, {"_sd": sorted(map(digest, texts))})
        claim.append({"audiences": list(names), "_sd": [digest(around)]})
        lines += [around, *texts]
    return Disclosed(encode(claim), tuple(lines))


def digest(disclosure: str) -> str:
    """By which what is signed names a disclosure."""
    return base64url.encode(sha256(disclosure.encode("ascii")))


def _text(salt: bytes, name: str, value: object) -> str:
    return base64url.encode(encode([base64url.encode(salt), name, value]))


def parse_disclosure(text: str) -> Disclosure:
    """FormError for what is none in its one spelling."""
    found = decode(base64url.decode(text))
    if not isinstance(found, list) or len(found) != _PARTS:
        raise FormError("", f"expected an array of salt, name and value, found {shown(found)}")
    salt = below("0", base64url.decode, found[0])
    if len(salt) != SALT_SIZE:
        raise FormError("/0", f"expected a salt of {SALT_SIZE} bytes, found {len(salt)}")
    return Disclosure(salt, below("1", parse_text, found[1]), found[2])


def digests_of(found: Disclosure) -> list[str]:
    """Those of the fields in the disclosure of a set."""
    below("1", parse_constant(_SET), found.name)
    inner = below("2", lambda value: members(value, ("_sd",)), found.value)
    listed = below("2", lambda value: read(value, "_sd", parse_list(_digest)), inner)
    if listed != sorted(set(listed)):
        raise FormError("/2/_sd", "the digests are not in order, or one is there twice")
    return listed


def parse_sets(value: object) -> list[SetOf]:
    """The claim `fields`."""
    found = parse_list(_set)(value)
    names = [each.audiences for each in found]
    if names != sorted(set(names)):
        raise FormError("", "the sets are not in order, or one is there twice")
    return found


def parse_names(value: object) -> tuple[str, ...]:
    """Audiences: at least one, in order, each once."""
    names = parse_list(parse_text)(value)
    if not names or names != sorted(set(names)):
        raise FormError("", f"expected names in order, each once, found {shown(', '.join(names))}")
    return tuple(names)


def _set(value: object) -> SetOf:
    found = members(value, ("audiences", "_sd"))
    digests = read(found, "_sd", parse_list(_digest))
    if len(digests) != 1:
        raise FormError("/_sd", f"expected one digest, found {len(digests)}")
    return SetOf(read(found, "audiences", parse_names), digests[0])


def _digest(text: object) -> str:
    data = base64url.decode(text)
    if len(data) != HASH_SIZE:
        raise FormError("", f"expected a digest of {HASH_SIZE} bytes, found {len(data)}")
    return base64url.encode(data)


def lines_of(disclosures: Sequence[str]) -> bytes:
    """As they are stored: one per line."""
    return "\n".join(disclosures).encode("ascii")


def from_lines(data: bytes) -> list[str]:
    return data.decode("ascii", "replace").split("\n")
