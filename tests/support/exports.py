"""What tests of exports ask for."""

from collections.abc import Sequence

from bpc_worker.domain.exporting import File, Format, Wanted
from bpc_worker.domain.stored import Row

BUNDLE = Wanted(format=Format.BUNDLE)


def nowhere(row: Row, files: Sequence[File]) -> None:
    """For what is not to be handed out."""
    raise AssertionError(f"{row.passport_version_id}: {[file.name for file in files]}")
