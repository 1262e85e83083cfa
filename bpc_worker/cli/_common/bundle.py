"""What `passport verify` and `passport explain` read: a bundle, keys, and where facts were found."""

from pathlib import Path
from typing import TYPE_CHECKING

from bpc_worker.cli._common.output import EXIT_USAGE, fail, refused, tell

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.base.signing import KeyRegistry
    from bpc_worker.core.proof.explain import Sources
    from bpc_worker.core.proof.verify import VerifiedProof

BUNDLE = (
    "BUNDLE is a zip, or a folder, with receipt.json and what goes with it. With --tenant it is the id of a "
    "version in the database; or that of a passport, or a serial number, for its newest version."
)
_MAX_FACTS_BYTES = 64 * 1024 * 1024


def proved_of(parts: dict[str, bytes], keys_file: Path | None) -> "VerifiedProof":
    """The proof, as far as it can be checked; BundleError when it does not hold."""
    from bpc_worker.core.passport import bundle as bundles
    from bpc_worker.core.passport.receipt import parse_signed
    from bpc_worker.core.proof.verify import ProofError, verify_proof

    if keys_file is not None:
        verified = bundles.verify_bundle(parts, registry_of(keys_file, None))
        if verified.proof is not None:
            return verified.proof
    tell("no keys were named, so nobody has checked whose passport this is")
    try:
        receipt = parse_signed(parts[bundles.RECEIPT]).receipt
    except ValueError as error:
        raise bundles.BundleError(bundles.RECEIPT, str(error)) from error
    try:
        proved = verify_proof(parts[bundles.PROOF], law_date=receipt.law_date)
    except ProofError as error:
        raise bundles.BundleError(bundles.PROOF, str(error)) from error
    if proved.root_hash != receipt.proof_root_hash.hex():
        raise bundles.BundleError(bundles.PROOF, "it is not the proof that the receipt names")
    return proved


def sources_of(bundle: str, parts: dict[str, bytes]) -> "Sources":
    from bpc_worker.files.bundles import SOURCES, BundleFilesError, fact_sources

    if SOURCES not in parts:
        return {}
    hint = f"remove {SOURCES}, or mend it: nothing else depends on it"
    with refused(BundleFilesError, hint, what=f"{bundle}: "):
        found = fact_sources(parts[SOURCES])
    tell(f"the places come from {SOURCES}, which is not signed")
    return found


def parts_of(bundle: str, facts_file: Path | None) -> dict[str, bytes]:
    from bpc_worker.core.passport.bundle import FACTS
    from bpc_worker.files.bundles import BundleFilesError, read_bundle
    from bpc_worker.files.reading import read_at_most

    with refused((BundleFilesError, ValueError), BUNDLE):
        parts = read_bundle(Path(bundle))
    if facts_file is not None:
        with refused(OSError, "name a file that can be read", what=f"--facts {facts_file}: "):
            parts[FACTS] = read_at_most(facts_file, _MAX_FACTS_BYTES)
    return parts


def registry_of(keys_file: Path | None, bundle: Path | None) -> "KeyRegistry":
    from bpc_worker.files.keys import KeyFileError, read_registry

    if keys_file is None and bundle is not None and (beside := bundle.parent / "keys.json").is_file():
        tell(
            f"the keys are those of {beside}, beside the bundle: they tell who signed only if they came from "
            "the issuer by a way you trust"
        )
        keys_file = beside
    if keys_file is None:
        fail(
            EXIT_USAGE,
            "no keys to check the signature with: a key inside the bundle would prove nothing",
            "name them with --keys FILE or BPC_KEYS_FILE, or put keys.json beside the bundle; get the file "
            "from the issuer by a way you trust",
            "the issuer makes it with `bpc-worker keys export --out keys.json --tenant NAME`",
            'it looks like {"keys": [{"key_id": "…", "public_key": "…", "status": "ACTIVE"}]}',
        )
    hint = "`bpc-worker keys export --out keys.json` writes such a file"
    with refused(KeyFileError, hint, what="--keys "):
        return read_registry(keys_file)
