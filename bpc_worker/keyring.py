"""The secrets of an installation that handlers work with, held so that none of them can be printed."""

from typing import Never
from uuid import UUID

from bpc_worker.core.disclosure import disclosure_seed
from bpc_worker.core.hashing import sha256
from bpc_worker.core.signing import Ed25519Signer, Signer
from bpc_worker.jobs.errors import Code, Permanent

DEVELOPMENT_KEY_ID = "development"

# Anybody can sign with it: a passport that names it proves nothing, and production refuses it.
DEVELOPMENT_SEED = sha256(b"bpc-worker: the development key, known to everybody")
DEVELOPMENT_DISCLOSURE_KEY = sha256(b"bpc-worker: the development disclosure key, known to everybody")


class Keyring:
    """Who signs, and what the salts of withheld fields are made from; either may be missing."""

    __slots__ = ("_disclosure_key", "_signer")

    def __init__(self, signer: Signer | None, disclosure_key: bytes | None) -> None:
        self._signer = signer
        self._disclosure_key = disclosure_key

    @property
    def signer(self) -> Signer:
        if self._signer is None:
            raise Permanent(
                Code.SIGNING_KEY_MISSING,
                "this worker has no signing key: set BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64 and "
                "BPC_SIGNING_KEY_ID (`bpc-worker keys generate` makes one), then retry the job",
            )
        return self._signer

    def disclosure_seed(self, passport_version_id: UUID) -> bytes:
        if self._disclosure_key is None:
            raise Permanent(
                Code.CONFIG_MISSING,
                "this worker has no disclosure key: set BPC_DISCLOSURE_KEY to 32 random bytes in base64, "
                "the same for all workers, then retry the job",
            )
        return disclosure_seed(self._disclosure_key, passport_version_id)

    def __repr__(self) -> str:
        return f"Keyring(signer={self._signer!r})"

    def __reduce__(self) -> Never:
        raise TypeError("a keyring holds secrets: it is neither pickled nor copied")


def development_signer() -> Ed25519Signer:
    return Ed25519Signer(DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED)
