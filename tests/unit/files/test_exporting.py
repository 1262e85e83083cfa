"""A file is written whole, inside its folder, and over nothing."""

import os
from pathlib import Path

import pytest

from bpc_worker.files.exporting import ExportFileError, write_new


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "/etc/passwd", "a/b", "a\0b"])
def test_a_name_cannot_leave_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    with pytest.raises(ExportFileError, match="outside the folder"):
        write_new(folder, name, b"x")

    assert [each.name for each in tmp_path.rglob("*")] == ["folder"]


def test_the_same_bytes_again_are_fine_and_others_are_not(tmp_path: Path) -> None:
    assert write_new(tmp_path, "a.zip", b"one")
    assert not write_new(tmp_path, "a.zip", b"one")
    for other in (b"two", b"on", b"one more", b""):
        with pytest.raises(ExportFileError, match="is not overwritten"):
            write_new(tmp_path, "a.zip", other)

    assert (tmp_path / "a.zip").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a.zip"]  # noqa: PTH208 - hidden files too


@pytest.mark.parametrize("what", ["link to nothing", "link to the same bytes", "folder", "pipe"])
def test_what_is_no_file_is_left_alone(what: str, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    place = tmp_path / "a.zip"
    match what:
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "link to the same bytes":
            target.write_bytes(b"one")
            place.symlink_to(target)
        case _:
            place.symlink_to(target)

    with pytest.raises(ExportFileError):
        write_new(tmp_path, "a.zip", b"one")

    assert target.exists() == (what == "link to the same bytes")
    assert not list(tmp_path.glob(".bpc-*"))


@pytest.mark.parametrize("name", ["missing", "a file", "nul\0"])
def test_a_folder_that_is_none_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")

    with pytest.raises(ExportFileError):
        write_new(tmp_path / name, "a.zip", b"one")
