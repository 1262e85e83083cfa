"""The files of the audit commands: checkpoints that are read, and what is written once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, refused

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.audit.checkpoints import Kept


@contextmanager
def reading(what: str, path: Path) -> "Iterator[Kept]":
    """A checkpoint, open for as long as the block lasts; its heads are read when somebody wants them."""
    from bpc_worker.pipeline.audit.checkpoints import read_checkpoint

    readable = refused(OSError, "name a checkpoint that can be read", what=f"{what} {path}: ")
    with readable, path.open("rb") as file:
        yield read_checkpoint(file)


@contextmanager
def writing(out: Path, what: str) -> Iterator[BinaryIO]:
    """A new file, whole under its name after the block."""
    from bpc_worker.files.writing import whole_file

    try:
        with whole_file(out) as file:
            yield file
    except FileExistsError:
        fail(EXIT_USAGE, f"--out {out} exists already: {what} is never overwritten", "name another file")
    except OSError as error:
        fail(EXIT_FAILED, f"--out {out}: {error.strerror or error}", "name a file that can be written")
