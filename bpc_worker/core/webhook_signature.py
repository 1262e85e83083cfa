"""How a receiver knows that a webhook is ours.

BPC-WH-1 is over the body alone; Standard Webhooks 1.0 is over id, time and body.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from bpc_worker.core.base.signing import (
    SEED_SIZE,
    Ed25519Signer,
    SignatureError,
    sign_ed25519,
    verify_ed25519,
)

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with is none
PUBLIC_KEY_PREFIX = "whpk_"
SECRET_SIZES = range(24, 65)  # of Standard Webhooks
TOLERANCE_SECONDS = 300


class WebhookSignatureError(ValueError):
    """Why a secret is none, or a request is not what was sent; its text holds no secret."""


@dataclass(frozen=True, slots=True, repr=False)
class WebhookKeys:
    """What the requests to an endpoint are signed with: a secret for both, a seed for us alone."""

    secret: bytes
    seed: bytes

    def __post_init__(self) -> None:
        if len(self.secret) not in SECRET_SIZES or len(self.seed) != SEED_SIZE:
            raise WebhookSignatureError("a webhook's secret has 24 to 64 bytes, its seed 32")

    @property
    def secret_text(self) -> str:
        return SECRET_PREFIX + b64encode(self.secret).decode("ascii")

    @property
    def public_key(self) -> bytes:
        return Ed25519Signer("", self.seed).public_key

    def to_bytes(self) -> bytes:
        return self.seed + self.secret

    @staticmethod
    def from_bytes(data: bytes) -> "WebhookKeys":
        return WebhookKeys(secret=data[SEED_SIZE:], seed=data[:SEED_SIZE])


def secret_from(text: str) -> bytes:
    """The bytes behind whsec_…"""
    if not text.startswith(SECRET_PREFIX):
        raise WebhookSignatureError(f"a secret begins with {SECRET_PREFIX}")
    secret = _decoded(text.removeprefix(SECRET_PREFIX))
    if secret is None or len(secret) not in SECRET_SIZES:
        raise WebhookSignatureError(f"a secret is {SECRET_PREFIX} and 24 to 64 bytes in base64")
    return secret


def public_key_text(public_key: bytes) -> str:
    return PUBLIC_KEY_PREFIX + b64encode(public_key).decode("ascii")


def public_key_from(text: str) -> bytes:
    """The bytes behind whpk_…"""
    found = _decoded(text.removeprefix(PUBLIC_KEY_PREFIX)) if text.startswith(PUBLIC_KEY_PREFIX) else None
    if found is None or len(found) != SEED_SIZE:
        raise WebhookSignatureError(f"a public key is {PUBLIC_KEY_PREFIX} and 32 bytes in base64")
    return found


def headers(
    delivery_id: UUID, event_type: str, timestamp: int, body: bytes, keys: Sequence[WebhookKeys]
) -> dict[str, str]:
    """Of one attempt. While a secret is being replaced there are two of `keys`, the new one first.

    X-BPC-Signature has room for one signature: the old secret's, until its time is over.
    """
    signed = _signed_content(str(delivery_id), timestamp, body)
    return {
        "Content-Type": "application/json",
        "X-BPC-Signature": "sha256=" + bpc_signature(keys[-1].secret_text, body),
        "X-BPC-Event-Type": event_type,
        "X-BPC-Delivery-Id": str(delivery_id),
        "webhook-id": str(delivery_id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature for each in keys for signature in _signatures(each, signed)),
    }


def bpc_signature(secret: str, body: bytes) -> str:
    """The secret counts as the text that it is shown as."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _signed_content(message_id: str, timestamp: int, body: bytes) -> bytes:
    return f"{message_id}.{timestamp}.".encode() + body


def _signatures(keys: WebhookKeys, signed: bytes) -> Iterator[str]:
    yield "v1," + b64encode(_hmac(keys.secret, signed)).decode("ascii")
    yield "v1a," + b64encode(sign_ed25519(keys.seed, signed)).decode("ascii")


def _hmac(secret: bytes, signed: bytes) -> bytes:
    return hmac.new(secret, signed, hashlib.sha256).digest()


def verify(
    given: Mapping[str, str],
    body: bytes,
    *,
    now: int | None,
    secret: str | None = None,
    public_key: str | None = None,
) -> list[str]:
    """Which signatures of a received request hold; WebhookSignatureError when one that is there does not.

    Names of headers are compared without case. `now` None: its age is not looked at.
    """
    found = {name.lower(): value.strip() for name, value in given.items()}
    held = []
    if secret is not None and "x-bpc-signature" in found:
        _check_bpc(found["x-bpc-signature"], secret, body)
        held.append("X-BPC-Signature")
    if "webhook-signature" in found:
        held += _check_standard(found, body, now, secret, public_key)
    if not held:
        raise WebhookSignatureError(
            "no signature to check: neither X-BPC-Signature nor webhook-signature is among the headers, "
            "or the secret or public key for them was not given"
        )
    return held


def _check_bpc(given: str, secret: str, body: bytes) -> None:
    if not hmac.compare_digest(bpc_signature(secret, body).encode(), given.removeprefix("sha256=").encode()):
        raise WebhookSignatureError("X-BPC-Signature is not of this secret over these bytes")


def _check_standard(
    found: Mapping[str, str], body: bytes, now: int | None, secret: str | None, public_key: str | None
) -> list[str]:
    message_id, time = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    if not message_id or not (time.isascii() and time.isdigit()):
        raise WebhookSignatureError("webhook-id or webhook-timestamp is missing or not what it should be")
    age = 0 if now is None else now - int(time)
    if abs(age) > TOLERANCE_SECONDS:
        raise WebhookSignatureError(
            f"webhook-timestamp is {age} s old; {TOLERANCE_SECONDS} either way are fine"
        )
    signed = _signed_content(message_id, int(time), body)
    given = [part.partition(",")[::2] for part in found["webhook-signature"].split()]
    held = []
    if secret is not None:
        expected = _hmac(secret_from(secret), signed)
        if not any(
            kind == "v1" and hmac.compare_digest(expected, _decoded(text) or b"") for kind, text in given
        ):
            raise WebhookSignatureError(
                "webhook-signature has no v1 of this secret over id, time and these bytes"
            )
        held.append("webhook-signature v1")
    if public_key is not None:
        key = public_key_from(public_key)
        if not any(kind == "v1a" and _signed_by(key, signed, _decoded(text) or b"") for kind, text in given):
            raise WebhookSignatureError(
                "webhook-signature has no v1a of this key over id, time and these bytes"
            )
        held.append("webhook-signature v1a")
    return held


def _signed_by(public_key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        verify_ed25519(public_key, message, signature)
    except SignatureError:
        return False
    return True


def _decoded(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return None
