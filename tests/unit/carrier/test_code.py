"""The size of a code on paper, and what a reader and a ruler make of it."""

import re
from xml.etree import ElementTree as ET

import pytest
from PIL import Image, ImageDraw

from bpc_worker.carrier.code import Code, Printing, code_of, dark_runs, png, printed_size, svg
from bpc_worker.domain.qr_image import Level, qr_matrix
from tests.support.carriers import in_png, seen

URL = "https://id.example.eu/01/09506000134352/21/BAT-1234"[:50]
OWN = "https://passports.example/p/0123456789ABCDEF"
SVG = "{http://www.w3.org/2000/svg}"


def drawn_svg(code: Code, module: int = 10) -> Image.Image:
    """The path of the SVG, drawn by a few lines that know nothing of QR codes."""
    root = ET.fromstring(svg(code))  # noqa: S314 - made here
    width = int(root.attrib["viewBox"].split()[2])
    picture = Image.new("L", (width * module, width * module), 255)
    [_, dark] = root.iter(f"{SVG}path")
    draw = ImageDraw.Draw(picture)
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", dark.attrib["d"]):
        left, top, right = int(x) * module, int(y) * module, (int(x) + int(length)) * module
        draw.rectangle((left, top, right - 1, top + module - 1), fill=0)
    return picture


@pytest.mark.parametrize("level", ["M", "Q"])
@pytest.mark.parametrize("text", [URL, OWN])
@pytest.mark.parametrize("dpi", [203, 300, 600])
def test_a_png_is_read_and_is_as_large_as_it_should_be(text: str, level: Level, dpi: int) -> None:
    found = in_png(png(code_of(text, Printing(level=level, dpi=dpi))))

    assert (found.text, found.level) == (text, level)
    assert found.module_mm >= 0.396
    assert 20 <= found.side_mm <= 20 + 45 * 25.4 / dpi
    assert found.quiet_modules == 4


@pytest.mark.parametrize("text", [URL, OWN])
def test_an_svg_is_the_same_code_and_says_how_large_it_is(text: str) -> None:
    code = code_of(text, Printing())
    root = ET.fromstring(svg(code))  # noqa: S314 - made here
    found = seen(drawn_svg(code), 254)  # a module is a millimetre

    assert found.text == text
    assert found.quiet_modules == 4
    assert root.attrib["width"] == root.attrib["height"] == f"{code.size.room_mm:.4f}mm"
    assert root.findtext(f"{SVG}title") == text


def test_a_text_cannot_leave_the_title_of_an_svg() -> None:
    hostile = "https://id.example.eu/</title><script>&"

    assert ET.fromstring(svg(code_of(hostile, Printing()))).findtext(f"{SVG}title") == hostile  # noqa: S314


@pytest.mark.parametrize(
    ("printing", "dots"),
    [
        (Printing(), 8),  # 20 mm / 33 modules are 7.16 dots of 300 an inch
        (Printing(side_mm=10), 5),  # 0.396 mm are 4.68
        (Printing(side_mm=10, module_mm=0.33), 4),  # 3.9
        (Printing(side_mm=10, dpi=600), 10),  # 9.35
        (Printing(side_mm=10, module_mm=0.508), 6),  # exactly six
        (Printing(side_mm=5, module_mm=0.33, dpi=203), 3),  # 2.64
    ],
)
def test_a_module_is_a_whole_number_of_dots_and_never_smaller_than_asked(
    printing: Printing, dots: int
) -> None:
    size = printed_size(URL, printing)

    assert size.dots == dots
    assert size.module_mm >= printing.module_mm - 1e-12
    assert size.side_mm >= printing.side_mm
    assert size.room_mm == pytest.approx((33 + 8) * size.module_mm)


def test_the_size_that_is_told_beforehand_is_that_of_the_code() -> None:
    for length in range(1, 200, 7):
        text = "https://id.example.eu/p/" + "a" * length
        assert printed_size(text, Printing(level="Q")).modules == qr_matrix(text, "Q").size


def test_dark_runs_are_the_dark_modules() -> None:
    matrix = qr_matrix(URL)
    dark = {(row, column + more) for row, column, length in dark_runs(matrix) for more in range(length)}

    assert dark == {
        (row, column)
        for row, modules in enumerate(matrix.rows)
        for column in range(matrix.size)
        if modules >> (matrix.size - 1 - column) & 1
    }
