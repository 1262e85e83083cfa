"""A passport bundle on disk: a folder, or a zip that can do no harm to whoever opens it."""

import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bpc_worker.core.passport.bundle import KNOWN, RECEIPT
from bpc_worker.files.reading import read_at_most, read_regular

SOURCES = "sources.json"  # where each fact was found; a help for people, not covered by the signature

_READ = KNOWN | {SOURCES}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_END = b"PK\x05\x06"
_END_SIZE = 22
_ZIP64_LOCATOR = b"PK\x06\x07"
_ZIP64_LOCATOR_SIZE = 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_DIRECTORY_BYTES_PER_FILE = 46 + 100 + 512  # header, name, and what tools add
_OLDEST = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can name
_UNIX = 3


class BundleFilesError(Exception):
    """What cannot be read as a bundle, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleLimits:
    files: int = 32
    file_bytes: int = 64 * 1024 * 1024
    total_bytes: int = 96 * 1024 * 1024


def read_bundle(path: Path, limits: BundleLimits | None = None) -> dict[str, bytes]:
    """The files of the bundle that have a meaning, by name; others are left where they are."""
    bounds = limits or BundleLimits()
    try:
        parts = (
            _read_folder(path, bounds)
            if path.is_dir()
            else read_zip(read_at_most(path, bounds.total_bytes), bounds)
        )
    except OSError as error:
        raise BundleFilesError(f"{path}: {error.strerror or error}") from error
    if RECEIPT not in parts:
        raise BundleFilesError(f"{path}: there is no {RECEIPT} in it, so it is no passport bundle")
    return parts


def read_zip(data: bytes, limits: BundleLimits | None = None) -> dict[str, bytes]:
    """The files that have a meaning. Sizes are checked before anything is unpacked, and again while it is."""
    bounds = limits or BundleLimits()
    _check_directory(data, bounds)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries(entries, bounds)
            return {entry.filename: _unpacked(archive, entry) for entry in entries if entry.filename in _READ}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, struct.error) as error:
        raise BundleFilesError(f"not a zip that can be read: {error}") from error


class _Source(msgspec.Struct, frozen=True):
    fact_type: str
    fact_key: str
    pointers: list[str]


def fact_sources(data: bytes) -> dict[tuple[str, str], list[str]]:
    """Of sources.json, `[{"fact_type", "fact_key", "pointers"}]`: where each fact was found."""
    try:
        listed = msgspec.json.decode(data, type=list[_Source])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleFilesError(f"{SOURCES}: {error}") from error
    return {(each.fact_type, each.fact_key): each.pointers for each in listed}


def write_zip(parts: Mapping[str, bytes]) -> bytes:
    """The same parts are the same bytes; their names are those of a bundle."""
    for name in parts:
        _check_name(name)
    return zipped(parts)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """In order of name, not compressed, without time or user."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return target.getvalue()


def _read_folder(path: Path, limits: BundleLimits) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    left = limits.total_bytes
    for name in sorted(_READ):
        file = path / name
        if not os.path.lexists(file):
            continue
        try:
            parts[name] = read_regular(file, min(left, limits.file_bytes))
        except OSError as error:
            raise BundleFilesError(f"{file}: {error.strerror or error}") from error
        left -= len(parts[name])
    return parts


def _check_directory(data: bytes, limits: BundleLimits) -> None:
    """The size of the directory, before the library makes an object of each of its entries."""
    end = data[-_END_SIZE:]
    if len(end) < _END_SIZE or not end.startswith(_END) or end[20:] != b"\0\0":
        raise BundleFilesError("not a zip, or one with something after its end")
    if data[:-_END_SIZE][-_ZIP64_LOCATOR_SIZE:].startswith(_ZIP64_LOCATOR):
        raise BundleFilesError("a zip of more than 4 GiB, or one that pretends to be")
    count, size = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if count > limits.files or size > limits.files * _DIRECTORY_BYTES_PER_FILE:
        raise BundleFilesError(f"more than {limits.files} files in the zip")


def _check_entries(entries: list[zipfile.ZipInfo], limits: BundleLimits) -> None:
    if len(entries) > limits.files:
        raise BundleFilesError(f"more than {limits.files} files in the zip")
    seen: set[str] = set()
    for entry in entries:
        _check_name(entry.filename)
        if entry.filename.casefold() in seen:
            raise BundleFilesError(f"two files {entry.filename} in the zip")
        seen.add(entry.filename.casefold())
        mode = entry.external_attr >> 16
        if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
            raise BundleFilesError(f"{entry.filename}: encrypted, or packed in an unusual way")
        if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
            raise BundleFilesError(f"{entry.filename}: not a regular file")
        if entry.file_size > limits.file_bytes:
            raise BundleFilesError(f"{entry.filename}: more than {limits.file_bytes} bytes")
    if sum(entry.file_size for entry in entries) > limits.total_bytes:
        raise BundleFilesError(f"more than {limits.total_bytes} bytes in the zip")


def _check_name(name: str) -> None:
    """A plain name: no folder, no drive, nothing that leaves the place where it is unpacked."""
    if not _NAME.fullmatch(name):
        shown = ascii(name if len(name) <= 60 else name[:60] + "…")  # noqa: PLR2004 - enough to recognise it
        raise BundleFilesError(f"{shown} is no name for a file in a bundle: its files stand side by side")


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as file:
        data = file.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise BundleFilesError(f"{entry.filename}: {entry.file_size} bytes were announced, {len(data)} came")
    return data
