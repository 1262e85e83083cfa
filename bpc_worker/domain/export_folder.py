"""Where exports of a tenant lie: a folder of its own below the export folder, and nowhere else."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from bpc_worker.domain.exporting import File
from bpc_worker.files.writing import ExportFileError, ExportRefusedError, check_name, folder_below, write_new
from bpc_worker.handler_api import Code, Permanent, Retryable

_LONGEST_STEP = 100  # letters, so that it is a name everywhere


def steps_below(tenant_id: UUID, folder: str | None) -> list[str]:
    """From the export folder to where files go. ValueError for a folder that leads out of the tenant's."""
    steps = [] if folder is None else folder.split("/")
    for step in steps:
        try:
            check_name(step)
        except ExportRefusedError as error:
            raise ValueError(
                f"folder: names with / between them, none of them empty, . or ..: {error}"
            ) from None
        if len(step) > _LONGEST_STEP or not step.isprintable():
            raise ValueError(
                f"folder: {step[:_LONGEST_STEP]!r} is no name of {_LONGEST_STEP} printable letters"
            )
    return [str(tenant_id), *steps]


def write_files(root: Path, steps: Sequence[str], files: Sequence[File]) -> None:
    """Each whole or not at all. One that an earlier attempt has left, with the same bytes, stays."""
    try:
        with folder_below(root, steps) as opened:
            for file in files:
                write_new(root.joinpath(*steps), file.name, file.data, opened=opened)
    except ExportRefusedError as error:
        raise Permanent(Code.FORBIDDEN, str(error)) from error
    except (ExportFileError, OSError) as error:
        what = getattr(error, "strerror", None) or error
        raise Retryable(Code.INTERNAL_ERROR, f"the export folder {root}: {what}") from error
