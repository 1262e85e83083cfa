"""Status lists: two bits for each version, packed as the draft says, and read in one spelling only."""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

import pytest

from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import (
    Ed25519Signer,
    KeyRegistry,
    KeyStatus,
    Purpose,
    RegisteredKey,
    SignatureError,
)
from bpc_worker.core.passport.status_list import (
    PLACES,
    Status,
    StatusList,
    StatusListError,
    claims,
    pack,
    token,
    verify_status_list,
)

URI = "https://passports.example/status/1"
NOON = 1_800_000_000
SIGNER = Ed25519Signer("status-1", b"s" * 32)


def registry(purpose: Purpose = Purpose.STATUS) -> KeyRegistry:
    key = RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE, frozenset({purpose}))
    return KeyRegistry({SIGNER.key_id: key})


def signed(document: bytes) -> str:
    return token(document, SIGNER.key_id, SIGNER.sign(Kind.STATUS_LIST, document))


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def altered(change: Callable[[dict[str, object]], object]) -> str:
    """A list that is signed, and that says something else."""
    found = json.loads(claims(URI, NOON, pack({})))
    change(found)
    return signed(canonical(found))


def with_list(lst: str, bits: int = 2) -> str:
    return altered(lambda found: found.update(status_list={"bits": bits, "lst": lst}))


def packed(words: bytes) -> str:
    return urlsafe_b64encode(zlib.compress(words)).decode().rstrip("=")


def test_two_bits_each_from_the_lowest_on() -> None:
    """The statuses 1 2 0 3 0 1 0 1 1 2 3 3 are the bytes C9 44 F9: section 4.1 of the draft."""
    statuses = [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3]
    places = {status: [idx for idx, each in enumerate(statuses) if each == status] for status in Status}

    assert pack(places)[:3].hex() == "c944f9"


def test_a_place_that_nobody_has_is_not_in_force() -> None:
    words = pack({Status.ACTIVE: [0], Status.SUPERSEDED: [PLACES - 1]})
    read = StatusList(URI, NOON, NOON, words)

    assert len(words) == 32768
    assert [read.status(idx) for idx in (0, 1, PLACES - 2, PLACES - 1)] == [
        Status.ACTIVE, Status.NOT_IN_FORCE, Status.NOT_IN_FORCE, Status.SUPERSEDED,
    ]  # fmt: skip


def test_the_claims_are_those_of_the_draft_in_canonical_json() -> None:
    document = claims(URI, NOON, pack({Status.REVOKED: [5]}))
    found = json.loads(document)
    lst = found["status_list"].pop("lst")

    assert canonical(json.loads(document)) == document
    assert found == {"sub": URI, "iat": NOON, "exp": NOON + 86400, "ttl": 3600, "status_list": {"bits": 2}}
    assert zlib.decompress(urlsafe_b64decode(lst + "=" * (-len(lst) % 4)))[1] == 0b10100110


def test_what_was_signed_is_read_again() -> None:
    text = signed(claims(URI, NOON, pack({Status.REVOKED: [5]})))
    header = json.loads(urlsafe_b64decode(text.split(".")[0] + "=="))
    read = verify_status_list(text, registry())

    assert header == {"alg": "EdDSA", "kid": "status-1", "typ": "statuslist+jwt"}
    assert (read.uri, read.issued_at, read.expires_at) == (URI, NOON, NOON + 86400)
    assert [read.status(idx) for idx in (4, 5)] == [Status.NOT_IN_FORCE, Status.REVOKED]


@pytest.mark.parametrize("idx", [-1, PLACES])
def test_a_place_outside_the_list_is_an_error(idx: int) -> None:
    with pytest.raises(StatusListError, match="places 0 to 131071"):
        StatusList(URI, NOON, NOON, pack({})).status(idx)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a.b", "expected header.claims.signature"),
        ("a.b.c.d", "expected header.claims.signature"),
        ("=.b.c", "base64url"),
        (altered(lambda found: found.pop("ttl")), "missing: ttl"),
        (altered(lambda found: found.update(nbf=1)), "unknown: 'nbf'"),
        (altered(lambda found: found.update(iat="now")), "/iat: "),
        (altered(lambda found: found.update(sub="")), "/sub: "),
        (with_list(packed(pack({})), bits=1), "/status_list/bits: expected 2, found 1"),
        (with_list("AAAA"), "/status_list/lst: not packed with zlib"),
        (with_list(packed(b"\0" * 100)), "/status_list/lst: expected 32768 bytes"),
        (with_list(packed(b"\0" * 10**7)), "/status_list/lst: expected 32768 bytes"),
        (with_list(packed(pack({})) + "AAAA"), "/status_list/lst: expected 32768 bytes"),
        (with_list(packed(pack({}))[:-8]), "/status_list/lst: expected 32768 bytes"),
    ],
)
def test_what_is_no_list_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(StatusListError) as refused:
        verify_status_list(text, registry())

    assert why in str(refused.value)


@pytest.mark.parametrize("member", ["alg", "typ"])
def test_another_header_is_refused(member: str) -> None:
    header = canonical({"alg": "EdDSA", "kid": "status-1", "typ": "statuslist+jwt"} | {member: "none"})
    rest = signed(claims(URI, NOON, pack({}))).split(".", 1)[1]

    with pytest.raises(StatusListError, match=f"/{member}: "):
        verify_status_list(f"{urlsafe_b64encode(header).decode().rstrip('=')}.{rest}", registry())


def test_a_changed_list_and_a_key_for_something_else_are_refused() -> None:
    document = claims(URI, NOON, pack({}))
    forged = token(
        claims(URI, NOON, pack({Status.ACTIVE: [1]})), "status-1", SIGNER.sign(Kind.STATUS_LIST, document)
    )

    with pytest.raises(SignatureError):
        verify_status_list(forged, registry())
    with pytest.raises(SignatureError, match="another purpose"):
        verify_status_list(signed(document), registry(Purpose.PASSPORT))
