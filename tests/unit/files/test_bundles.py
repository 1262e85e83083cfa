"""Bundles on disk: what was written comes back, and nothing hostile gets far."""

import io
import os
import stat
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from bpc_worker.files.bundles import (
    BundleFilesError,
    BundleLimits,
    fact_sources,
    read_bundle,
    read_zip,
    write_zip,
)

PARTS = {"receipt.json": b"{}", "payload.json": b"[1]", "proof.json": b"p" * 1000}
SMALL = BundleLimits(files=4, file_bytes=1000, total_bytes=2000)


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data, compress_type=method)
    return target.getvalue()


def test_what_is_written_is_read() -> None:
    assert read_zip(write_zip(PARTS)) == PARTS


def test_the_same_parts_are_the_same_bytes() -> None:
    """For ever: exports are compared by hash."""
    turned = dict(reversed(PARTS.items()))

    assert write_zip(turned) == write_zip(PARTS)
    assert sha256(write_zip(PARTS)).hexdigest() == (
        "d6402a218e22f27eadc035dbfd94e47c7dcb4c6f70d05de657d43c47fd163191"
    )


def test_a_written_zip_has_no_time_no_user_and_plain_rights() -> None:
    with zipfile.ZipFile(io.BytesIO(write_zip(PARTS))) as archive:
        entries = archive.infolist()

    assert [each.filename for each in entries] == ["payload.json", "proof.json", "receipt.json"]
    assert {each.date_time for each in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {each.external_attr >> 16 for each in entries} == {stat.S_IFREG | 0o644}
    assert {each.compress_type for each in entries} == {zipfile.ZIP_STORED}


def test_a_zip_of_any_tool_is_read_and_other_files_in_it_are_left_alone() -> None:
    data = zipped(("receipt.json", b"{}"), ("README.txt", b"how to verify"), ("qr.png", b"\x89PNG"))

    assert read_zip(data) == {"receipt.json": b"{}"}


NAMES = [
    "../receipt.json", "/etc/passwd", "a/receipt.json", "C:receipt.json", "..", ".hidden", "a\\b",
    "receipt.json\n", "r\u00e9ceipt.json", "x" * 101, "folder/",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_that_could_leave_its_place_is_refused(name: str) -> None:
    with pytest.raises(BundleFilesError, match="is no name for a file"):
        read_zip(zipped((name, b"x"), ("receipt.json", b"{}")))


@pytest.mark.parametrize("name", [*NAMES, ""], ids=ascii)
def test_a_name_that_could_leave_its_place_is_not_written(name: str) -> None:
    with pytest.raises(BundleFilesError, match="is no name for a file"):
        write_zip({name: b"x"})


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["receipt.json", "RECEIPT.json"])
def test_two_files_of_one_name_are_refused(second: str) -> None:
    """Which of them counts would depend on the reader."""
    with pytest.raises(BundleFilesError, match="two files"):
        read_zip(zipped(("receipt.json", b"{}"), (second, b"[]")))


def test_a_link_in_a_zip_is_refused() -> None:
    link = zipfile.ZipInfo("receipt.json")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16

    with pytest.raises(BundleFilesError, match="not a regular file"):
        read_zip(zipped((link, b"/etc/passwd")))


def test_too_many_files_are_refused_before_the_directory_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(*((f"f{number}", b"") for number in range(5)))
    monkeypatch.setattr(zipfile, "ZipFile", None)

    with pytest.raises(BundleFilesError, match="more than 4 files"):
        read_zip(data, SMALL)


def test_a_directory_that_is_larger_than_it_says_is_refused() -> None:
    data = bytearray(zipped(*((f"f{number}", b"") for number in range(60))))
    data[-14:-12] = data[-12:-10] = (3).to_bytes(2, "little")

    with pytest.raises(BundleFilesError, match="more than 4 files"):
        read_zip(bytes(data), SMALL)


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(("receipt.json", bytes(50_000_000)))
    monkeypatch.setattr(zipfile.ZipFile, "open", None)

    assert len(data) < 60_000
    with pytest.raises(BundleFilesError, match="more than 1000 bytes"):
        read_zip(data, SMALL)


def test_many_large_files_are_refused_together() -> None:
    with pytest.raises(BundleFilesError, match="more than 2000 bytes in the zip"):
        read_zip(zipped(("a", bytes(900)), ("b", bytes(900)), ("c", bytes(900))), SMALL)


def test_a_file_that_is_larger_than_it_says_is_refused() -> None:
    data = bytearray(zipped(("receipt.json", bytes(100_000))))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")

    with pytest.raises(BundleFilesError):
        read_zip(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_packing_is_refused(method: int) -> None:
    with pytest.raises(BundleFilesError, match="packed in an unusual way"):
        read_zip(zipped(("receipt.json", b"{}"), method=method))


def test_an_encrypted_file_is_refused() -> None:
    data = bytearray(zipped(("receipt.json", b"{}")))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flags] |= 1

    with pytest.raises(BundleFilesError, match="encrypted"):
        read_zip(bytes(data))


def test_something_after_the_end_or_a_zip64_directory_is_refused() -> None:
    data = zipped(("receipt.json", b"{}"))
    locator = b"PK\x06\x07" + bytes(16)

    for wrong in (data + b"x", data[:-22] + locator + data[-22:], b"", b"PK", b"not a zip" * 10):
        with pytest.raises(BundleFilesError):
            read_zip(wrong)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_flipped_byte_gives_the_same_content_or_a_refusal(method: int) -> None:
    data = zipped(*PARTS.items(), method=method)
    for at in range(len(data)):
        wrong = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        try:
            found = read_zip(wrong)
        except BundleFilesError:
            continue
        assert set(found.items()) <= set(PARTS.items()), at


def test_a_folder_is_a_bundle_too(tmp_path: Path) -> None:
    for name, data in PARTS.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "notes.txt").write_text("mine")

    assert read_bundle(tmp_path) == PARTS


def test_a_link_or_a_pipe_in_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "receipt.json").symlink_to("/etc/passwd")
    with pytest.raises(BundleFilesError, match=r"receipt\.json: Too many levels of symbolic links"):
        read_bundle(tmp_path)
    (tmp_path / "receipt.json").unlink()
    os.mkfifo(tmp_path / "receipt.json")
    with pytest.raises(BundleFilesError, match=r"receipt\.json: Not a regular file"):
        read_bundle(tmp_path)


def test_a_folder_has_the_same_limits(tmp_path: Path) -> None:
    for name in ("receipt.json", "payload.json", "proof.json"):
        (tmp_path / name).write_bytes(bytes(900))
    with pytest.raises(BundleFilesError, match=r"receipt\.json: More than 200 bytes"):
        read_bundle(tmp_path, SMALL)
    (tmp_path / "facts.json").write_bytes(bytes(1001))
    with pytest.raises(BundleFilesError, match=r"facts\.json: More than 1000 bytes"):
        read_bundle(tmp_path, SMALL)


def test_a_zip_is_read_from_its_file_within_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    file.write_bytes(write_zip(PARTS))
    assert read_bundle(file) == PARTS

    file.write_bytes(bytes(2001))
    with pytest.raises(BundleFilesError, match="More than 2000 bytes"):
        read_bundle(file, SMALL)


def test_what_is_no_bundle_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BundleFilesError, match="No such file"):
        read_bundle(tmp_path / "none.zip")
    with pytest.raises(BundleFilesError, match=r"no receipt\.json"):
        read_bundle(tmp_path)


def test_sources_are_read_by_fact() -> None:
    found = fact_sources(
        b'[{"fact_type": "Battery", "fact_key": "battery", "pointers": ["doc#/a", "doc#/b"]}]'
    )

    assert found == {("Battery", "battery"): ["doc#/a", "doc#/b"]}
    for wrong in (b"{}", b"[1]", b'[{"fact_type": "x"}]', b"\xff", b"[" * 100_000):
        with pytest.raises(BundleFilesError, match=r"sources\.json: "):
            fact_sources(wrong)
