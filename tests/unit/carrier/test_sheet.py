"""Sheets of labels, rendered: every code is read and measured, every text found, every mark in its place."""

import re
from io import BytesIO
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from bpc_worker.carrier.code import Printing, code_of
from bpc_worker.carrier.fonts import lines_of, load, missing, width_mm
from bpc_worker.carrier.label import Label
from bpc_worker.carrier.sheet import MM, SheetPrinter, metals_box
from bpc_worker.carrier.template import CATEGORIES, Box, Template, of_category
from tests.support.carriers import in_pdf, label_picture

PRINTING = Printing()
BLACK = 128


def label(number: int = 0, *metals: str, **values: str) -> Label:
    url = f"https://id.example.eu/01/09506000134352/21/B{number}"
    texts = {"identifier": url, "serial": f"B{number}", "capacity": "210 Ah", **values}
    return Label(name=f"B{number}", identifier=url, values=texts, metals=metals)


def write(path: Path, template: Template, *labels: Label) -> Path:
    printed = [(each, code_of(each.identifier, PRINTING)) for each in labels]
    path.write_bytes(SheetPrinter(template, PRINTING).pdf(printed, "labels"))
    return path


def text_of(path: Path, page: int = 0) -> str:
    found: str = pypdfium2.PdfDocument(path)[page].get_textpage().get_text_range()
    return found


def share_of_ink(picture: Image.Image, box: Box, dpi: int) -> float:
    dots = tuple(
        round(each * dpi / 25.4) for each in (box.left, box.top, box.left + box.width, box.top + box.height)
    )
    pixels = picture.crop((dots[0], dots[1], dots[2], dots[3])).tobytes()
    return sum(value < BLACK for value in pixels) / len(pixels)


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_code_of_a_sheet_is_read_and_large_enough(category: str, tmp_path: Path) -> None:
    template = of_category(category)
    labels = [label(number) for number in range(template.sheet.labels + 1)]
    path = write(tmp_path / "a.pdf", template, *labels)

    assert len(pypdfium2.PdfDocument(path)) == 2
    for number, each in enumerate(labels):
        page, place = divmod(number, template.sheet.labels)
        found = in_pdf(path, template, page + 1, place + 1)
        assert (found.text, found.level) == (each.identifier, "M")
        assert found.module_mm == pytest.approx(code_of(each.identifier, PRINTING).size.module_mm, abs=0.02)
        assert found.module_mm >= 0.396
        assert found.side_mm >= 20
        assert found.quiet_modules >= 4


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_label_has_identifier_capacity_symbol_and_an_empty_room_for_ce(
    category: str, tmp_path: Path
) -> None:
    template = of_category(category)
    path = write(tmp_path / "a.pdf", template, label(7, "Cd", "Pb", product="Pack 78", serial="B7"))
    picture = label_picture(path, template, 1, 1, 300)

    words = text_of(path).split()
    assert "https://id.example.eu/01/09506000134352/21/B7" in words
    assert {"210", "Ah", "Pack", "78", "B7", "Cd", "Pb"} <= {*words}
    assert 0.15 < share_of_ink(picture, template.collection_symbol.box, 300) < 0.5
    assert share_of_ink(picture, template.ce_mark.box, 300) == 0


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("metals", [("Cd",), ("Pb",), ("Cd", "Pb")], ids=" ".join)
def test_the_sign_of_a_metal_covers_a_quarter_of_the_symbol(
    category: str, metals: tuple[str, ...], tmp_path: Path
) -> None:
    """Measured by the dark pixels beneath the symbol: what is as wide and as high as they are."""
    template = of_category(category)
    path = write(tmp_path / "a.pdf", template, label(1, *metals))
    picture, dpi = label_picture(path, template, 1, 1, 300), 300
    symbol = template.collection_symbol
    _, box = metals_box(template, load(template), metals)
    dark = picture.point(lambda value: 255 if value < BLACK else 0)
    around = [box.left - 1, symbol.y_mm + symbol.size_mm, box.left + box.width + 1, box.top + box.height + 2]
    found = dark.crop(tuple(round(each * dpi / 25.4) for each in around)).getbbox()  # type: ignore[arg-type]

    assert found is not None
    area = (found[2] - found[0]) * (found[3] - found[1]) * (25.4 / dpi) ** 2
    assert area >= len(metals) * symbol.size_mm**2 / 4
    assert found[1] > 0  # beneath it


def test_without_a_metal_nothing_stands_beneath_the_symbol(tmp_path: Path) -> None:
    template = of_category("lmt")
    path = write(tmp_path / "a.pdf", template, label())
    _, box = metals_box(template, load(template), ["Pb"])

    assert share_of_ink(label_picture(path, template, 1, 1, 300), box, 300) == 0


def test_the_symbol_reaches_the_sides_of_its_square_and_not_beyond(tmp_path: Path) -> None:
    template = of_category("ev")
    picture = label_picture(write(tmp_path / "a.pdf", template, label()), template, 1, 1, 300)
    box = template.collection_symbol.box
    around = [box.left - 2, box.top - 2, box.left + box.width + 2, box.top + box.height + 2]
    dark = picture.point(lambda value: 255 if value < BLACK else 0)
    found = dark.crop(tuple(round(each * 300 / 25.4) for each in around)).getbbox()  # type: ignore[arg-type]

    assert [each * 25.4 / 300 for each in found or ()] == pytest.approx([2, 2, 52, 52], abs=0.2)


def test_the_same_labels_are_the_same_bytes_without_a_time(tmp_path: Path) -> None:
    template = of_category("ev")
    one, two = (write(tmp_path / name, template, *map(label, range(9))).read_bytes() for name in "ab")

    assert one == two
    assert {*re.findall(rb"D:(\d{4})", one)} == {b"2000"}


def test_a_code_is_a_vector_and_no_picture(tmp_path: Path) -> None:
    page = pypdfium2.PdfDocument(write(tmp_path / "a.pdf", of_category("ev"), label()))[0]
    kinds = {each.type for each in page.get_objects(max_depth=3)}

    assert pypdfium2.raw.FPDF_PAGEOBJ_PATH in kinds
    assert pypdfium2.raw.FPDF_PAGEOBJ_IMAGE not in kinds


def test_one_label_is_a_page_of_its_size() -> None:
    template = of_category("lmt")
    document = pypdfium2.PdfDocument(BytesIO(SheetPrinter(template, PRINTING).one(label(3))))

    assert len(document) == 1
    assert document[0].get_size() == pytest.approx((99.1 * MM, 67.7 * MM), abs=0.01)


def test_a_url_is_broken_after_a_slash_and_words_after_a_blank() -> None:
    url = "https://id.example.eu/01/09506000134352/21/BAT-000001"
    wide = width_mm(url, "Helvetica", 10)

    assert lines_of(url, "Helvetica", 10, wide) == [url]
    assert lines_of(url, "Helvetica", 10, wide - 1) == [url[:43], "BAT-000001"]
    assert lines_of("a battery pack", "Helvetica", 10, width_mm("a battery p", "Helvetica", 10)) == [
        "a battery",
        "pack",
    ]
    assert lines_of("WWWW", "Helvetica", 10, width_mm("WW", "Helvetica", 10)) == ["WW", "WW"]
    assert lines_of("WW", "Helvetica", 10, 0.1) == ["W", "W"]
    assert lines_of("", "Helvetica", 10, 10) == []


def test_helvetica_has_western_letters_only() -> None:
    assert missing("Kapazität 210 Ah, 5 €", "Helvetica") == ""
    assert missing("Łódź Ω\n", "Helvetica") == "\nŁźΩ"
