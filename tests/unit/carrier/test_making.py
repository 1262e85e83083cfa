"""An order made into files: checked first, the same bytes however it is made, and over nothing."""

import csv
from pathlib import Path

import msgspec
import pytest

from bpc_worker.carrier import making
from bpc_worker.carrier.code import Printing
from bpc_worker.carrier.errors import CarrierError, UnfinishedError
from bpc_worker.carrier.label import Label
from bpc_worker.carrier.making import make
from bpc_worker.carrier.order import Order, check, parts, table
from bpc_worker.carrier.template import of_category
from bpc_worker.files.lock import FileLock
from tests.support.carriers import killed

LMT = of_category("lmt")


def labels(count: int, *metals: str, **values: str) -> list[Label]:
    return [
        Label(
            name=f"B{number}",
            identifier=f"https://id.example.eu/p/{number:016}",
            values={
                "identifier": f"https://id.example.eu/p/{number:016}",
                "serial": f"B{number}",
                "capacity": "36 Ah",
                **values,
            },
            metals=metals,
        )
        for number in range(count)
    ]


def order(count: int = 19, **changes: object) -> Order:
    given = {"labels": labels(count), "template": LMT, "printing": Printing(), "sheets_per_file": 1}
    return Order(**(given | changes))  # type: ignore[arg-type]


def made(out: Path, wanted: Order | None = None, processes: int = 1) -> list[int]:
    told: list[int] = []
    assert make(wanted or order(), out, processes=processes, progress=told.append) == out / "codes.csv"
    return told


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_every_battery_has_its_files_and_its_line(tmp_path: Path) -> None:
    assert made(tmp_path / "new" / "out") == [8, 8, 3]

    found = contents(tmp_path / "new" / "out")
    listed = list(csv.DictReader(found["codes.csv"].decode().splitlines()))
    assert {*found} == {
        "codes.csv",
        *(f"{kind}/B{number}.{kind}" for kind in ("svg", "png") for number in range(19)),
        *(f"pdf/labels-000{number}.pdf" for number in (1, 2, 3)),
    }
    assert len(listed) == 19
    assert listed[9] == {
        "number": "10",
        "serial": "B9",
        "identifier": "https://id.example.eu/p/0000000000000009",
        "svg": "svg/B9.svg",
        "png": "png/B9.png",
        "pdf": "pdf/labels-0002.pdf",
        "page": "1",
        "place": "2",
        "level": "M",
        "modules": "29",
        "module_mm": "0.7620",
        "side_mm": "22.098",
    }


def test_the_bytes_are_the_same_twice_and_by_two_processes(tmp_path: Path) -> None:
    made(tmp_path / "a")
    made(tmp_path / "b", processes=2)
    once = contents(tmp_path / "a")
    made(tmp_path / "a")

    assert contents(tmp_path / "a") == once == contents(tmp_path / "b")


def test_what_was_left_in_the_middle_is_completed(tmp_path: Path) -> None:
    """As a killed run leaves it: no codes.csv, some files, a half one under another name."""
    made(tmp_path)
    whole = contents(tmp_path)
    (tmp_path / "codes.csv").rename(tmp_path / "codes.csv.unfinished")
    for name in ("svg/B3.svg", "png/B18.png", "pdf/labels-0002.pdf"):
        (tmp_path / name).unlink()
    (tmp_path / "svg" / ".bpc-0123456789abcdef.part").write_bytes(b"<svg")
    (tmp_path / ".bpc-carrier.lock").touch()

    made(tmp_path)

    assert contents(tmp_path) == whole


def test_only_the_formats_that_were_asked_for(tmp_path: Path) -> None:
    made(tmp_path, order(formats=frozenset({"svg"})))

    assert [each.name for each in sorted(tmp_path.iterdir())] == ["codes.csv", "svg"]
    first = (tmp_path / "codes.csv").read_text().splitlines()[1]
    assert first.startswith("1,B0,https://id.example.eu/p/0000000000000000,svg/B0.svg,,,,,M,29,")


@pytest.mark.parametrize("finished", [True, False])
def test_another_order_is_not_mixed_in(tmp_path: Path, *, finished: bool) -> None:
    made(tmp_path)
    if not finished:
        (tmp_path / "codes.csv").rename(tmp_path / "codes.csv.unfinished")
    before = contents(tmp_path)

    with pytest.raises(CarrierError, match="labels of another order are there; name another folder"):
        made(tmp_path, order(20))

    assert contents(tmp_path) == before


def test_the_same_list_by_another_template_is_not_written_over(tmp_path: Path) -> None:
    made(tmp_path)
    before = contents(tmp_path)
    other = msgspec.structs.replace(LMT, label=msgspec.structs.replace(LMT.label, outline=True))

    with pytest.raises(UnfinishedError, match=r"labels-0001.pdf: something else is there"):
        made(tmp_path, order(template=other))

    assert contents(tmp_path) == before


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")

    with pytest.raises(CarrierError, match="there is something in the folder already"):
        made(tmp_path)

    assert contents(tmp_path) == {"letter.txt": b"dear"}


def test_two_cannot_write_into_one_folder(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / ".bpc-carrier.lock")
    assert lock.try_alone()
    try:
        with pytest.raises(CarrierError, match="another `carrier make` is writing there; wait for it"):
            made(tmp_path)
    finally:
        lock.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UnfinishedError, match="file"):
        made(tmp_path / "file")


def test_a_process_that_is_killed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_make_part", killed)

    with pytest.raises(UnfinishedError, match="one of its processes was killed"):
        made(tmp_path, processes=2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"printing": Printing(side_mm=30)},
            "needs 40.7 mm; the template has 30; allow smaller ones with --side-mm",
        ),
        ({"labels": labels(1, capacity="")}, "no capacity for '{capacity}'; add a column of that name"),
        ({"labels": labels(1, capacity="3600 Ah and more")}, "needs more than 1 lines of 26 mm at 14 pt"),
        ({"labels": labels(1, capacity="36 Ω")}, "has characters that Helvetica-Bold lacks: Ω; name a font"),
    ],
)
def test_everything_is_checked_before_the_first_file(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(CarrierError) as refused:
        made(tmp_path / "out", order(19, **changes))

    assert said in str(refused.value)
    assert str(refused.value).startswith("https://id.example.eu/p/0000000000000000: ")
    assert not (tmp_path / "out").exists()


def test_a_symbol_without_room_for_its_metals_is_refused() -> None:
    low = msgspec.structs.replace(LMT.collection_symbol, y_mm=20, size_mm=31)
    template = msgspec.structs.replace(LMT, collection_symbol=low)

    with pytest.raises(CarrierError, match=r"template: Cd and Pb and text '{identifier}' overlap"):
        check(order(labels=labels(1, "Cd", "Pb"), template=template))


def test_parts_are_whole_sheets() -> None:
    assert [len(part.labels) for part in parts(order(17))] == [8, 8, 1]
    assert [len(part.labels) for part in parts(order(17, sheets_per_file=2))] == [16, 1]
    assert len(table(order(17)).splitlines()) == 18
