"""Which files the demo wrote, so that it removes those and no others."""

from collections.abc import Sequence
from pathlib import Path

from bpc_worker.core.base.hashing import sha256_hex

_LIST = ".demo-files"


def list_files(out: Path, written: Sequence[Path]) -> None:
    """Kept in the folder itself, in the form of sha256sum: what the demo wrote there, and how it was."""
    listed = _listed(out) | {file.name: sha256_hex(file.read_bytes()) for file in written}
    lines = "".join(f"{digest}  {name}\n" for name, digest in listed.items())
    (out / _LIST).write_text(lines, encoding="utf-8")


def make_room(out: Path, *names: str) -> None:
    """Files of an earlier demo, whose passports are gone, go where another of that name is to be written."""
    for file in _own(out):
        if file.name in names:
            file.unlink()


def remove_files(out: Path) -> int:
    """What the demo wrote there and nobody has changed since, and nothing else."""
    written = _own(out)
    for file in written:
        file.unlink()
    (out / _LIST).unlink(missing_ok=True)
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()
    return len(written)


def _own(out: Path) -> list[Path]:
    """As the demo wrote them."""
    there = {out / name: digest for name, digest in _listed(out).items() if (out / name).is_file()}
    return [file for file, digest in there.items() if sha256_hex(file.read_bytes()) == digest]


def _listed(out: Path) -> dict[str, str]:
    if not (out / _LIST).is_file():
        return {}
    found = [line.partition("  ") for line in (out / _LIST).read_text(encoding="utf-8").splitlines()]
    return {name: digest for digest, _, name in found if name and Path(name).name == name}
