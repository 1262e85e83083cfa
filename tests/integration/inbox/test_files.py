"""The inbox on a real file system: whatever people put there, nothing is lost and nothing overwritten."""

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker.inbox.files import ChangedError, Inbox
from bpc_worker.inbox.layout import Meaning, Wanted
from bpc_worker.inbox.stillness import Found
from bpc_worker.jobs.errors import Permanent

LIMIT = 100


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path, Wanted())


def put(root: Path, place: str, content: str = "content") -> Path:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def only(inbox: Inbox) -> Found:
    [found] = inbox.look().found
    return found


def files(root: Path) -> dict[str, str]:
    return {str(each.relative_to(root)): each.read_text() for each in root.rglob("*") if each.is_file()}


def test_a_file_goes_its_way(inbox: Inbox, tmp_path: Path) -> None:
    put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    inbox.take(found)

    assert files(tmp_path) == {".taking/acme/BOM/bom.csv": "content"}
    assert inbox.read(found, LIMIT) == b"content"
    inbox.finish(found)
    assert files(tmp_path) == {"done/acme/BOM/bom.csv": "content"}
    assert inbox.look().found == []
    assert list((tmp_path / ".taking").iterdir()) == []


def test_what_a_dead_producer_took_is_found_again(inbox: Inbox, tmp_path: Path) -> None:
    put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    inbox.take(found)
    again = only(Inbox(tmp_path, Wanted(exclude=("*.csv",))))

    assert again == Found(place=found.place, meaning=Meaning.DOCUMENT, looks=found.looks, taken=True)


def test_a_file_that_is_replaced_while_it_is_handled_is_another_one(inbox: Inbox, tmp_path: Path) -> None:
    put(tmp_path, "acme/BOM/bom.csv", "first")
    found = only(inbox)
    inbox.take(found)
    put(tmp_path, "acme/BOM/bom.csv", "second")

    assert inbox.read(found, LIMIT) == b"first"
    inbox.finish(found)
    later = only(inbox)
    inbox.take(later)
    inbox.finish(later)
    assert sorted(files(tmp_path / "done/acme/BOM").values()) == ["first", "second"]


def test_a_file_that_changed_since_it_was_seen_is_not_taken(inbox: Inbox, tmp_path: Path) -> None:
    path = put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    path.write_text("content and more")

    with pytest.raises(ChangedError):
        inbox.take(found)
    assert path.exists()


def test_a_file_that_somebody_has_open_for_writing_is_not_taken(inbox: Inbox, tmp_path: Path) -> None:
    """However long a stalled upload stands still."""
    path = put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    with path.open("a"):
        with pytest.raises(ChangedError):
            inbox.take(found)
        assert path.exists()
    inbox.take(found)


def test_a_build_with_a_document_that_is_being_written_is_not_taken(inbox: Inbox, tmp_path: Path) -> None:
    put(tmp_path, "acme/battery/passport.yaml")
    path = put(tmp_path, "acme/battery/bom.csv")
    found = only(inbox)
    with path.open("a"), pytest.raises(ChangedError):
        inbox.take(found)
    inbox.take(found)


def test_what_is_written_after_it_was_taken_keeps_it_out_of_done(inbox: Inbox, tmp_path: Path) -> None:
    path = put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    inbox.take(found)
    inbox.read(found, LIMIT)
    (tmp_path / ".taking/acme/BOM/bom.csv").write_text("something else")

    with pytest.raises(ChangedError):
        inbox.finish(found)
    assert only(inbox).looks != found.looks
    assert not path.exists()


def test_a_file_that_vanishes_is_no_trouble(inbox: Inbox, tmp_path: Path) -> None:
    path = put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    path.unlink()

    with pytest.raises(ChangedError):
        inbox.take(found)
    with pytest.raises(ChangedError):
        inbox.read(found, LIMIT)


def test_a_second_file_of_a_name_waits_for_the_first(inbox: Inbox, tmp_path: Path) -> None:
    put(tmp_path, "acme/BOM/bom.csv", "first")
    inbox.take(only(inbox))
    put(tmp_path, "acme/BOM/bom.csv", "second")
    second = next(found for found in inbox.look().found if not found.taken)

    with pytest.raises(ChangedError):
        inbox.take(second)
    assert files(tmp_path) == {".taking/acme/BOM/bom.csv": "first", "acme/BOM/bom.csv": "second"}


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _large(path: Path) -> None:
    path.write_bytes(b"x" * (LIMIT + 1))


@pytest.mark.parametrize("make", [_link, _pipe, _socket, _large])
def test_what_is_no_document_is_refused_and_can_be_moved_away(
    inbox: Inbox, tmp_path: Path, make: object
) -> None:
    path = tmp_path / "acme/BOM/x"
    path.parent.mkdir(parents=True)
    assert callable(make)
    make(path)
    found = only(inbox)
    inbox.take(found)

    with pytest.raises(Permanent) as caught:
        inbox.read(found, LIMIT)
    assert (caught.value.detail or {})["do"]
    inbox.reject(found, {"message": "no"})
    assert os.path.lexists(tmp_path / "rejected/acme/BOM/x")
    assert json.loads((tmp_path / "rejected/acme/BOM/x.error.json").read_text())["message"] == "no"


def test_rejected_twice_under_one_name_keeps_both(inbox: Inbox, tmp_path: Path) -> None:
    for content in ("first", "second"):
        put(tmp_path, "acme/BOM/x.pdf", content)
        found = only(inbox)
        inbox.take(found)
        inbox.reject(found, {"about": content})
    kept = files(tmp_path / "rejected/acme/BOM")

    contents = {name: text for name, text in kept.items() if not name.endswith(".error.json")}
    assert sorted(contents.values()) == ["first", "second"]
    for name, text in contents.items():
        assert json.loads(kept[f"{name}.error.json"])["about"] == text
        assert name.endswith(".pdf")


@pytest.mark.parametrize(
    "name", [b"\xff\xfe", b"a\nb", b"x" * 255, "ü".encode() * 127, b"." * 2 + b"a" * 250]
)
def test_any_name_that_a_file_can_have_is_moved_and_explained(
    inbox: Inbox, tmp_path: Path, name: bytes
) -> None:
    (tmp_path / "acme").mkdir()
    for content in ("first", "second"):
        shown = os.fsdecode(name).lstrip(".")
        put(tmp_path, f"acme/{shown}", content)
        found = only(inbox)
        inbox.take(found)
        inbox.reject(found, {"about": content})

    assert len(list((tmp_path / "rejected/acme").iterdir())) == 4


def test_a_folder_that_becomes_a_link_leads_nowhere(inbox: Inbox, tmp_path: Path) -> None:
    """Its owner must not get at files of others, not even between a look and the taking."""
    put(tmp_path, "beta/BOM/bom.csv", "of beta")
    put(tmp_path, "acme/BOM/bom.csv", "of acme")
    (tmp_path / "acme/BOM").rename(tmp_path / "elsewhere")
    (tmp_path / "acme/BOM").symlink_to("../beta/BOM")
    looks = next(found.looks for found in inbox.look().found if found.place[0] == "beta")
    stolen = Found(place=("acme", "BOM", "bom.csv"), meaning=Meaning.DOCUMENT, looks=looks)

    with pytest.raises(OSError, match="Not a directory"):
        inbox.take(stolen)
    assert (tmp_path / "beta/BOM/bom.csv").read_text() == "of beta"


def test_folders_that_say_nothing_are_left_and_named(inbox: Inbox, tmp_path: Path) -> None:
    put(tmp_path, "acme/BOMS/bom.csv")
    put(tmp_path, "acme/BOM/deeper/bom.csv")
    (tmp_path / "acme/empty").mkdir()
    look = inbox.look()

    assert look.found == []
    assert look.troubles.keys() == {("acme", "BOMS"), ("acme", "BOM", "deeper")}
    assert "passport.yaml" in look.troubles["acme", "BOMS"]


def test_only_one_holds_an_inbox_and_the_next_follows(tmp_path: Path) -> None:
    one, two = Inbox(tmp_path, Wanted()), Inbox(tmp_path, Wanted())

    assert one.hold()
    assert not two.hold()
    assert one.hold()
    one.close()
    assert two.hold()
    two.close()


def test_a_lock_file_that_was_removed_is_not_held_any_more(tmp_path: Path) -> None:
    one, two = Inbox(tmp_path, Wanted()), Inbox(tmp_path, Wanted())
    one.hold()
    (tmp_path / ".lock").unlink()

    assert two.hold()
    assert not one.hold()
    one.close()
    two.close()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system."""
    if not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:  # noqa: S108
        pytest.skip("this machine has no second file system to write to")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("place", ["acme/battery/passport.yaml", "acme/BOM/bom.csv"])
def test_done_may_lie_on_another_file_system(
    inbox: Inbox, tmp_path: Path, elsewhere: Path, place: str
) -> None:
    (tmp_path / "done").symlink_to(elsewhere)
    put(tmp_path, place)
    found = only(inbox)
    inbox.take(found)
    inbox.finish(found)

    assert files(elsewhere) == {place: "content"}
    assert inbox.look().found == []


def test_what_cannot_be_taken_at_once_stays_where_it_is(
    inbox: Inbox, tmp_path: Path, elsewhere: Path
) -> None:
    """Between two file systems a file cannot be taken away from under whoever replaces it."""
    (tmp_path / ".taking").symlink_to(elsewhere)
    path = put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)

    with pytest.raises(OSError, match="cross-device"):
        inbox.take(found)
    assert path.read_text() == "content"


@pytest.mark.parametrize("link", ["rejected/acme", "rejected/acme/BOM"])
def test_no_link_leads_what_is_rejected_elsewhere(inbox: Inbox, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    inbox.take(found)
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        inbox.reject(found, {"message": "no"})

    assert list(elsewhere.iterdir()) == []
    assert inbox.read(found, LIMIT) == b"content"  # and it is still there, for the next look


def test_words_beside_a_rejected_file_replace_a_link_and_what_it_leads_to_stays(
    inbox: Inbox, tmp_path: Path
) -> None:
    victim = put(tmp_path.parent, f"{tmp_path.name}-victim", "precious")
    put(tmp_path, "acme/BOM/bom.csv")
    found = only(inbox)
    inbox.take(found)
    words = tmp_path / "rejected/acme/BOM/bom.csv.error.json"
    words.parent.mkdir(parents=True)
    words.symlink_to(victim)
    inbox.reject(found, {"message": "no"})

    assert (victim.read_text(), words.is_symlink()) == ("precious", False)
