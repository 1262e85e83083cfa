"""What is signed, by kind: no caller hands over bytes, and no message of one kind is one of another.

A receipt's has exactly 32 bytes, a checkpoint's 49, that of a view or a status list is the signing input of a
JWS (RFC 7515, 5.1), which has more and begins with its header. So one key may sign receipts, views and
checkpoints, and none of its signatures can be shown as one over something else.
"""

from base64 import urlsafe_b64encode
from enum import StrEnum

from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256

CHECKPOINT_PREFIX = b"BPC-CHECKPOINT-3\x00"
VIEW_TYPE = "dc+sd-jwt"
STATUS_LIST_TYPE = "statuslist+jwt"


class Kind(StrEnum):
    """The document of each is canonical JSON: a receipt without its signature, claims, a statement."""

    RECEIPT = "receipt"
    VIEW = "view"
    CHECKPOINT = "checkpoint"
    STATUS_LIST = "status_list"


def message(kind: Kind, document: bytes, key_id: str) -> bytes:
    """The bytes that are signed, of a document that is to be signed with that key."""
    match kind:
        case Kind.RECEIPT:
            return sha256(document)
        case Kind.CHECKPOINT:
            return CHECKPOINT_PREFIX + sha256(document)
        case Kind.VIEW:
            return _signing_input(VIEW_TYPE, document, key_id)
        case Kind.STATUS_LIST:
            return _signing_input(STATUS_LIST_TYPE, document, key_id)


def _signing_input(typ: str, claims: bytes, key_id: str) -> bytes:
    header = encode({"alg": "EdDSA", "kid": key_id, "typ": typ})
    return _base64url(header) + b"." + _base64url(claims)


def _base64url(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
