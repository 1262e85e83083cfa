"""What `bpc-worker demo --clean` takes away: what the demo wrote, as it wrote it."""

from pathlib import Path

from bpc_worker.demo.files import list_files, make_room, remove_files

NAMES = ("passport-1.zip", "keys.json", "qr.png")


def written(out: Path, *names: str, text: str = "by the demo") -> list[Path]:
    out.mkdir(exist_ok=True)
    files = [out / name for name in names]
    for file in files:
        file.write_text(text)
    return files


def left(out: Path) -> set[str]:
    return {file.name for file in out.iterdir()}


def test_what_the_demo_wrote_is_removed_and_the_folder_with_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    list_files(out, written(out, *NAMES))
    list_files(out, written(out, "passport-2.zip", "keys.json"))

    assert remove_files(out) == 4
    assert not out.exists()


def test_where_no_demo_was_played_nothing_is_removed(tmp_path: Path) -> None:
    written(tmp_path, *NAMES)

    assert remove_files(tmp_path) == 0
    assert left(tmp_path) == set(NAMES)


def test_what_others_put_beside_it_stays(tmp_path: Path) -> None:
    list_files(tmp_path, written(tmp_path, "passport-1.zip"))
    written(tmp_path, "passport-2.zip", "keys.json", text="of somebody else")

    assert remove_files(tmp_path) == 1
    assert left(tmp_path) == {"passport-2.zip", "keys.json"}


def test_what_others_wrote_over_it_stays(tmp_path: Path) -> None:
    list_files(tmp_path, written(tmp_path, *NAMES))
    written(tmp_path, "keys.json", text="of somebody else")

    assert remove_files(tmp_path) == 2
    assert left(tmp_path) == {"keys.json"}


def test_a_list_that_somebody_changed_leads_nowhere_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    [mine] = written(tmp_path, "mine")
    list_files(out, written(out, "qr.png"))
    listed = out / ".demo-files"
    listed.write_text(f"{listed.read_text().replace('qr.png', '../mine')}\nno list at all\n")

    assert remove_files(out) == 0
    assert mine.exists()


def test_a_folder_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert remove_files(tmp_path / "none") == 0


def test_room_is_made_where_the_demo_wrote_and_nowhere_else(tmp_path: Path) -> None:
    list_files(tmp_path, written(tmp_path, *NAMES))
    written(tmp_path, "keys.json", text="of somebody else")

    make_room(tmp_path, "qr.png", "keys.json", "passport-2.zip")

    assert left(tmp_path) == {"passport-1.zip", "keys.json", ".demo-files"}
