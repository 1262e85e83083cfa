"""What `passport verify` and `passport explain` read: a bundle, and where facts were found."""

from pathlib import Path
from typing import TYPE_CHECKING

from bpc_worker.cli._common.output import refused, tell

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.proof.explain import Sources

BUNDLE = (
    "BUNDLE is a zip, or a folder, with receipt.json and what goes with it; for `verify` also the file of a "
    "view. With --tenant it is the id of a version in the database; or that of a passport, or a serial "
    "number, for its newest version."
)


def sources_of(bundle: str, parts: dict[str, bytes]) -> "Sources":
    from bpc_worker.files.bundles import SOURCES, BundleFilesError, fact_sources

    if SOURCES not in parts:
        return {}
    hint = f"remove {SOURCES}, or mend it: nothing else depends on it"
    with refused(BundleFilesError, hint, what=f"{bundle}: "):
        found = fact_sources(parts[SOURCES])
    tell(f"the places come from {SOURCES}, which is not signed")
    return found


def parts_of(bundle: str) -> dict[str, bytes]:
    from bpc_worker.files.bundles import BundleFilesError, read_bundle

    with refused((BundleFilesError, ValueError), BUNDLE):
        return read_bundle(Path(bundle))
