"""A file is written whole, inside its folder, and over nothing."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bpc_worker.files.writing import (
    ExportFileError,
    ExportRefusedError,
    folder_below,
    remove_unfinished,
    replace_whole,
    whole_file,
    write_new,
)


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


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_that_is_not_finished_leaves_nothing_behind(tmp_path: Path, *, replace: bool) -> None:
    place = tmp_path / "a"

    def half() -> None:
        with whole_file(place, replace=replace) as file:
            file.write(b"half")
            assert not place.exists()
            assert [each.suffix for each in tmp_path.iterdir()] == ([".part"] if replace else [])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.EACCES])
def test_a_file_system_without_unnamed_files_takes_new_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Nobody else's trouble passes for that."""
    really = os.open

    def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(number, os.strerror(number))
        return really(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)
    if number == errno.EACCES:
        with pytest.raises(ExportFileError, match="Permission denied"):
            write_new(tmp_path, "a", b"ours")
    else:
        assert write_new(tmp_path, "a", b"ours")
    assert [each.name for each in tmp_path.iterdir()] == ([] if number == errno.EACCES else ["a"])


def test_a_process_that_is_killed_leaves_no_half_file(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from bpc_worker.files.writing import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as file: \n"
        " file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)"
    )

    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a")], check=False)

    assert ended.returncode == -9
    assert [*tmp_path.iterdir()] == []


def test_folders_below_are_made_and_entered_by_no_link(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    for steps in (["a", "b"], ["a", "b"], []):
        with folder_below(root, steps) as opened:
            write_new(root, "x", b"one", opened=opened)
    (root / "link").symlink_to(elsewhere)
    (root / "file").write_bytes(b"")
    for refused in (["link"], ["a", "..", ".."], ["file"], ["a\0"], [""], ["/etc"]):
        with pytest.raises(ExportRefusedError), folder_below(root, refused):
            pass  # pragma: no cover

    assert (root / "a" / "b" / "x").read_bytes() == b"one"
    assert [*elsewhere.iterdir()] == []
    assert sorted(each.name for each in root.iterdir()) == ["a", "file", "link", "x"]


def test_a_folder_that_cannot_be_entered_is_nobodys_fault(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), folder_below(tmp_path / "missing", []):
        pass  # pragma: no cover


def test_a_name_that_was_taken_meanwhile_stays_with_whoever_took_it(tmp_path: Path) -> None:
    place = tmp_path / "a"

    def slowly() -> None:
        with whole_file(place) as file:
            file.write(b"ours")
            place.write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        slowly()
    assert place.read_bytes() == b"theirs"
    assert [*tmp_path.iterdir()] == [place]


def test_a_file_is_replaced_at_once_and_readers_keep_what_they_opened(tmp_path: Path) -> None:
    place = tmp_path / "new" / "folder" / "a"
    replace_whole(place, b"one")
    with place.open("rb") as before:
        replace_whole(place, b"two")

        assert (before.read(), place.read_bytes()) == (b"one", b"two")


def test_the_mode_is_exact_whatever_the_umask_leaves(tmp_path: Path) -> None:
    former = os.umask(0o077)
    try:
        for name, mode in (("exact", 0o644), ("left", None)):
            with whole_file(tmp_path / name, mode=mode) as file:
                file.write(b"x")
    finally:
        os.umask(former)

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("exact", "left")] == [0o644, 0o600]


@pytest.mark.parametrize("taken", [False, True])
def test_a_file_system_without_hard_links_takes_new_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, taken: bool
) -> None:
    def no_links(*_: object, **__: object) -> None:
        if taken:
            (tmp_path / "a").write_bytes(b"theirs")
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    if taken:
        with pytest.raises(ExportFileError, match="is not overwritten"):
            write_new(tmp_path, "a", b"ours")
    else:
        assert write_new(tmp_path, "a", b"ours")

    assert (tmp_path / "a").read_bytes() == (b"theirs" if taken else b"ours")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_only_a_file_that_must_last_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[int] = []
    monkeypatch.setattr(os, "fsync", waits.append)

    assert write_new(tmp_path, "a", b"one", durable=False)
    assert waits == []
    assert write_new(tmp_path, "b", b"one")
    assert len(waits) == 2  # the file and its folder
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = {"a", ".bpc-lock", "b.part", ".hidden.part"}
    for name in (*kept, ".bpc-0011223344556677.part"):
        (tmp_path / name).touch()

    remove_unfinished(tmp_path)

    assert {each.name for each in tmp_path.iterdir()} == kept
