"""BPC-SIGN-1: Ed25519 (RFC 8032) over the message of a document, which its kind makes of it.

Public keys come from a registry, never from what is being verified. The library below verifies with
any 32 bytes as a public key. Under a key of small order one signature fits many messages, and a
key in a second spelling is a second name of the same signer, so both are refused here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Never, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bpc_worker.core.base.forms import SIGNATURE_SIZE
from bpc_worker.core.base.messages import Kind, message

KEY_SIZE = 32
SEED_SIZE = 32

# The curve -x² + y² = 1 + d·x²·y² over the integers mod p; its base point has the prime order L.
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_L = 2**252 + 27742317777372353535851937790883648493


class Fault(StrEnum):
    """Why something was not signed, or a signature not accepted."""

    UNKNOWN_KEY = "UNKNOWN_KEY"
    OTHER_KEY = "OTHER_KEY"
    NOT_ACTIVE = "NOT_ACTIVE"
    REVOKED = "REVOKED"
    OTHER_PURPOSE = "OTHER_PURPOSE"
    WRONG_LENGTH = "WRONG_LENGTH"
    KEY_NOT_CANONICAL = "KEY_NOT_CANONICAL"
    KEY_NOT_ON_CURVE = "KEY_NOT_ON_CURVE"
    KEY_OF_SMALL_ORDER = "KEY_OF_SMALL_ORDER"
    S_NOT_CANONICAL = "S_NOT_CANONICAL"
    BAD_SIGNATURE = "BAD_SIGNATURE"


class SignatureError(ValueError):
    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(fault, message)
        self.fault = fault
        self.message = message

    def __str__(self) -> str:
        return self.message


class KeyStatus(StrEnum):
    """ACTIVE signs and verifies, RETIRED verifies, REVOKED does neither."""

    ACTIVE = "ACTIVE"
    RETIRED = "RETIRED"
    REVOKED = "REVOKED"


class Purpose(StrEnum):
    """What a key may sign. One key may have the first two; one of status lists lies where more hands are."""

    PASSPORT = "passport"
    CHECKPOINT = "checkpoint"
    STATUS = "status"


PURPOSE_OF = MappingProxyType(
    {
        Kind.RECEIPT: Purpose.PASSPORT,
        Kind.VIEW: Purpose.PASSPORT,
        Kind.CHECKPOINT: Purpose.CHECKPOINT,
        Kind.STATUS_LIST: Purpose.STATUS,
    }
)
USUAL_PURPOSES = frozenset({Purpose.PASSPORT, Purpose.CHECKPOINT})


class Holder(Protocol):
    """Whoever has a private key, and so can be asked to sign."""

    @property
    def key_id(self) -> str: ...

    @property
    def public_key(self) -> bytes: ...


class Ed25519Signer:
    """A private key in this process; it cannot be printed, pickled or copied."""

    __slots__ = ("_private_key", "key_id", "public_key")

    def __init__(self, key_id: str, seed: bytes) -> None:
        _check_length("seed", seed, SEED_SIZE)
        self._private_key = Ed25519PrivateKey.from_private_bytes(seed)
        self.key_id = key_id
        self.public_key = self._private_key.public_key().public_bytes_raw()

    def sign(self, kind: Kind, document: bytes) -> bytes:
        return self._private_key.sign(message(kind, document, self.key_id))

    def __repr__(self) -> str:
        return f"Ed25519Signer(key_id={self.key_id!r}, public_key={self.public_key.hex()})"

    def __reduce__(self) -> Never:
        raise TypeError("a signer holds a private key: it is neither pickled nor copied")


@dataclass(frozen=True, slots=True)
class RegisteredKey:
    public_key: bytes
    status: KeyStatus
    purposes: frozenset[Purpose] = USUAL_PURPOSES

    def __post_init__(self) -> None:
        # A status that came as plain text must not pass by the comparisons below.
        object.__setattr__(self, "status", KeyStatus(self.status))


@dataclass(frozen=True, slots=True)
class KeyRegistry:
    """The public keys that count, by key id; one that should not be trusted is skipped, with the reason."""

    keys: Mapping[str, RegisteredKey]
    _skipped: Mapping[str, SignatureError] = field(init=False, repr=False, compare=False)
    _revoked: frozenset[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        skipped = {name: fault for name, key in self.keys.items() if (fault := _fault_of(name, key))}
        keys = {name: key for name, key in self.keys.items() if name not in skipped}
        revoked = frozenset(key.public_key for key in keys.values() if key.status is KeyStatus.REVOKED)
        object.__setattr__(self, "keys", MappingProxyType(keys))
        object.__setattr__(self, "_skipped", MappingProxyType(skipped))
        object.__setattr__(self, "_revoked", revoked)

    @property
    def skipped(self) -> tuple[SignatureError, ...]:
        """What is wrong with each key that does not count."""
        return tuple(self._skipped.values())

    def key(self, key_id: str, kind: Kind) -> RegisteredKey:
        """A key that may verify documents of this kind."""
        found = self.keys.get(key_id)
        if (skipped := self._skipped.get(key_id)) is not None:
            raise SignatureError(skipped.fault, skipped.message)
        if found is None:
            raise SignatureError(Fault.UNKNOWN_KEY, f"key {key_id!r} is not in the registry")
        if found.public_key in self._revoked:  # whatever other name it goes by
            raise SignatureError(Fault.REVOKED, f"key {key_id!r} is revoked")
        if PURPOSE_OF[kind] not in found.purposes:
            named = ", ".join(sorted(found.purposes))
            reason = f"key {key_id!r} is for another purpose: {named}, not {PURPOSE_OF[kind]}"
            raise SignatureError(Fault.OTHER_PURPOSE, reason)
        return found


def _fault_of(key_id: str, key: RegisteredKey) -> SignatureError | None:
    try:
        check_public_key(key.public_key)
        check_purposes(key.purposes)
    except SignatureError as error:
        return SignatureError(error.fault, f"key {key_id!r}: {error.message}")
    return None


def check_may_sign(holder: Holder, registry: KeyRegistry, kind: Kind, *, key_id: str) -> None:
    """`holder` has the key that the document names, and that key is ACTIVE and for such documents."""
    key = registry.key(key_id, kind)
    if key.status is not KeyStatus.ACTIVE:
        raise SignatureError(Fault.NOT_ACTIVE, f"key {key_id!r}: expected ACTIVE, found {key.status}")
    if holder.key_id != key_id:
        reason = f"the {kind} names key {key_id!r}, the signer holds {holder.key_id!r}"
        raise SignatureError(Fault.OTHER_KEY, reason)
    if holder.public_key != key.public_key:
        expected, found = key.public_key.hex(), holder.public_key.hex()
        reason = f"key {key_id!r}: the registry has public key {expected}, the signer {found}"
        raise SignatureError(Fault.OTHER_KEY, reason)


def verify(registry: KeyRegistry, key_id: str, kind: Kind, document: bytes, signature: bytes) -> None:
    """The holder of the registered key signed this document as one of this kind."""
    verify_ed25519(registry.key(key_id, kind).public_key, message(kind, document, key_id), signature)


def sign_ed25519(seed: bytes, message: bytes) -> bytes:
    """For keys that sign nothing else, as those of webhooks: with them alone bytes are handed over."""
    _check_length("seed", seed, SEED_SIZE)
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def verify_ed25519(public_key: bytes, message: bytes, signature: bytes) -> None:
    """RFC 8032, 5.1.7, where the key and S have one spelling and the key is not of small order."""
    check_public_key(public_key)
    _check_length("signature", signature, SIGNATURE_SIZE)
    if int.from_bytes(signature[32:], "little") >= _L:
        raise SignatureError(Fault.S_NOT_CANONICAL, "signature: S is not below the order of the group")
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        reason = f"not a signature of public key {public_key.hex()} over these bytes"
        raise SignatureError(Fault.BAD_SIGNATURE, reason) from None


def check_public_key(public_key: bytes) -> None:
    """A point of the curve in its one spelling (RFC 8032, 5.1.3) whose order is not 1, 2, 4 or 8."""
    _check_length("public key", public_key, KEY_SIZE)
    number = int.from_bytes(public_key, "little")
    x_is_odd, y = number >> 255, number % 2**255
    yy = y * y % _P
    # x² = (y²-1) / (d·y²+1), which is a square, or not, together with this product; -1/d is none.
    product = (yy - 1) * (_D * yy + 1) % _P
    if y >= _P or (product == 0 and x_is_odd):
        raise SignatureError(
            Fault.KEY_NOT_CANONICAL, f"public key {public_key.hex()}: not its canonical form"
        )
    if pow(product, (_P - 1) // 2, _P) == _P - 1:
        raise SignatureError(Fault.KEY_NOT_ON_CURVE, f"public key {public_key.hex()}: no point of the curve")
    # y of the points of order 1 and 2 (y² = 1), 4 (y = 0) and 8 (doubled they have y = 0, so x² = -y²).
    if y * (yy - 1) * (_D * yy * yy + 2 * yy - 1) % _P == 0:
        raise SignatureError(Fault.KEY_OF_SMALL_ORDER, f"public key {public_key.hex()}: of small order")


def check_purposes(purposes: frozenset[Purpose]) -> None:
    """One at least; and the key of status lists is for nothing else."""
    if not purposes:
        raise SignatureError(Fault.OTHER_PURPOSE, "a key has at least one purpose")
    if Purpose.STATUS in purposes and len(purposes) > 1:
        raise SignatureError(Fault.OTHER_PURPOSE, "a key for status lists has no other purpose")


def _check_length(name: str, data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise SignatureError(Fault.WRONG_LENGTH, f"{name}: expected {expected} bytes, found {len(data)}")
