"""The hash by which two jobs that ask for the same work are recognised."""

from bpc_worker.core.base.canonical_json import CanonicalJsonError, encode
from bpc_worker.core.base.hashing import sha256


def spec_hash(job_type: str, payload: object) -> bytes | None:
    """SHA-256 over type and payload; None where the payload has no canonical form."""
    try:
        return sha256(encode({"payload": payload, "type": job_type}))
    except CanonicalJsonError:
        return None
