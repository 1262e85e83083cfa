"""The secrets of an installation that handlers work with, held so that none of them can be printed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Never
from uuid import UUID

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport import salts
from bpc_worker.handler_api import Signer
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.keys.encryption import Sealer
from bpc_worker.keys.signers import LocalSigner

DEVELOPMENT_KEY_ID = "development"

# Anybody can sign with it: a passport that names it proves nothing, and production refuses it.
DEVELOPMENT_SEED = sha256(b"bpc-worker: the development key, known to everybody")
DEVELOPMENT_DISCLOSURE_KEY = sha256(b"bpc-worker: the development disclosure key, known to everybody")


@dataclass(frozen=True, slots=True)
class Whose:
    """A tenant that signs, as the database has it."""

    tenant_id: UUID
    name: str
    is_first: bool  # of those that have no key of their own


class Keyring:
    """Who signs, what the salts of withheld fields are made from, who seals; each may be missing.

    New receipts name the key of `signer`. Those of `former` only end what was compiled before a rotation.
    """

    __slots__ = (
        "_disclosure_key", "_former", "_of_tenants", "_one_each", "_signer", "_status_signer", "sealer",
    )  # fmt: skip

    def __init__(
        self,
        signer: Signer | None,
        disclosure_key: bytes | None,
        former: Iterable[Signer] = (),
        sealer: Sealer | None = None,
        status_signer: Signer | None = None,
        *,
        of_tenants: Mapping[str, Signer] | None = None,
        one_each: bool = False,
    ) -> None:
        self._of_tenants = dict(of_tenants or {})
        self._one_each = one_each  # no two tenants may have the same signer
        self._signer = signer
        self._status_signer = status_signer
        self.sealer = Sealer(()) if sealer is None else sealer  # without keys it tells what is missing
        self._disclosure_key = disclosure_key
        self._former = {each.key_id: each for each in former}

    @property
    def signer(self) -> Signer:
        if self._signer is None:
            raise Permanent(
                Code.SIGNING_KEY_MISSING,
                "this worker has no signing key: set BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64 and "
                "BPC_SIGNING_KEY_ID (`bpc-worker keys generate` makes one), then retry the job",
            )
        return self._signer

    @property
    def signers(self) -> list[Signer]:
        """All that sign new passports here."""
        return [*([] if self._signer is None else [self._signer]), *self._of_tenants.values()]

    @property
    def asks_whose(self) -> bool:
        """Whether it matters for whom is signed."""
        return bool(self._of_tenants) or self._one_each

    @property
    def tenants(self) -> list[str]:
        """Ids and names of those that have a key of their own."""
        return list(self._of_tenants)

    def signer_for(self, whose: Whose | None) -> Signer:
        """Who signs for that tenant."""
        if whose is None or not self.asks_whose:
            return self.signer
        own = self._of_tenants.get(str(whose.tenant_id)) or self._of_tenants.get(whose.name)
        if own is None and self._one_each and not whose.is_first:
            raise Permanent(
                Code.CONFIG_MISSING,
                f"tenant {whose.name!r} has no signing key of its own, and that of the installation is "
                "another tenant's: add {tenant, key_id, private_key_file} to signing.keys "
                "(`bpc-worker keys generate` makes a key), then retry the job",
            )
        return own or self.signer

    def signer_of(self, key_id: str, whose: Whose | None = None) -> Signer:
        """Who has that key here; when nobody has, who signs otherwise for that tenant."""
        return self._former.get(key_id) or self.signer_for(whose)

    @property
    def status_signer(self) -> Signer:
        if self._status_signer is None:
            raise Permanent(
                Code.CONFIG_MISSING,
                "this worker has no key for status lists: set BPC_SIGNING_STATUS_PRIVATE_KEY and "
                "BPC_SIGNING_STATUS_KEY_ID (`bpc-worker keys generate` makes one), then retry the job",
            )
        return self._status_signer

    def snapshot_salt(self, snapshot_id: UUID) -> bytes:
        return salts.snapshot_salt(self._key_of_salts(), snapshot_id)

    def disclosure_seed(self, passport_version_id: UUID) -> bytes:
        return salts.disclosure_seed(self._key_of_salts(), passport_version_id)

    def _key_of_salts(self) -> bytes:
        if self._disclosure_key is None:
            raise Permanent(
                Code.CONFIG_MISSING,
                "this worker has no disclosure key: set BPC_DISCLOSURE_KEY to 32 random bytes in base64, "
                "the same for all workers, then retry the job",
            )
        return self._disclosure_key

    def __repr__(self) -> str:
        return f"Keyring(signer={self._signer!r})"

    def __reduce__(self) -> Never:
        raise TypeError("a keyring holds secrets: it is neither pickled nor copied")


def development_signer() -> LocalSigner:
    return LocalSigner(DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED)
