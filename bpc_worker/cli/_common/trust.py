"""Whose keys count: those of a file that was named, or of a tenant's registry. Nothing that lies beside."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bpc_worker.cli._common.output import EXIT_USAGE, fail, refused, tell

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.base.messages import Kind
    from bpc_worker.core.base.signing import KeyRegistry


@dataclass(frozen=True, slots=True)
class Trusted:
    """The keys that count, and where they are from."""

    registry: "KeyRegistry"
    source: str
    issuers: tuple[str, ...] | None = None  # for whom they speak; None: the database knows

    def told(self) -> "Trusted":
        """Itself, after a word about each key in it that does not count."""
        for fault in self.registry.skipped:
            tell(f"skipped in {self.source}: {fault.message}")
        return self

    def trouble_with(self, issuer: str) -> str | None:
        """Why these keys do not speak for that issuer; None: they do, or they do not say."""
        if self.issuers == ():
            tell(f"the keys of {self.source} name no issuer: nobody has checked that they speak for {issuer}")
        if not self.issuers or issuer in self.issuers:
            return None
        return f"it is of {issuer}, the keys are those of {', '.join(self.issuers)}"

    def signer(self, key_id: str, kind: "Kind") -> "SignedBy":
        """Of a signature that has been verified."""
        from bpc_worker.files.keys import thumbprint
        from bpc_worker.keys.keyring import development_signer

        key = self.registry.key(key_id, kind).public_key
        known = key == development_signer().public_key
        return SignedBy(key_id, thumbprint(key), self.source, development=known)


@dataclass(frozen=True, slots=True)
class SignedBy:
    """The key that verified a signature: what a person compares with what the issuer says."""

    key_id: str
    fingerprint: str
    source: str
    development: bool

    def __str__(self) -> str:
        return f"key {self.key_id}, fingerprint {self.fingerprint}, from {self.source}"

    def members(self) -> dict[str, object]:
        """In the output for programs."""
        return {
            "key_id": self.key_id,
            "fingerprint": self.fingerprint,
            "keys": self.source,
            "development_key": self.development,
        }

    def warn(self) -> None:
        if self.development:
            tell("it is signed with the development key: everybody has that, so it proves nothing")


def trusted_keys(keys_file: Path | None) -> Trusted:
    """Of the file that was named; without one nothing can be valid."""
    from bpc_worker.files.keys import KeyFileError, read_key_file

    if keys_file is None:
        fail(
            EXIT_USAGE,
            "not valid: no trusted keys. Keys that lie in a bundle or beside it may be the forger's: none is "
            "used that was not named",
            "name them with --keys FILE or BPC_KEYS_FILE; get the file from the issuer by a way you trust",
            "the issuer makes it with `bpc-worker keys export --out keys.json --tenant NAME`",
        )
    hint = "`bpc-worker keys export --out keys.json` writes such a file"
    with refused(KeyFileError, hint, what="--keys "):
        found = read_key_file(keys_file)
    return Trusted(found.registry, str(keys_file), found.issuers).told()
