"""A template's own font is embedded, and asked what it can show."""

from io import BytesIO
from pathlib import Path

import msgspec
import pypdfium2
import pytest
import reportlab

from bpc_worker.carrier.code import Printing, code_of
from bpc_worker.carrier.errors import CarrierError
from bpc_worker.carrier.fonts import Fonts, load, missing
from bpc_worker.carrier.label import Label
from bpc_worker.carrier.sheet import SheetPrinter
from bpc_worker.carrier.template import of_category

FONTS = Path(reportlab.__file__).parent / "fonts"
URL = "https://id.example.eu/p/0123456789ABCDEF"


def pdf(folder: Path) -> bytes:
    template = msgspec.structs.replace(
        of_category("lmt"), font=str(folder / "Vera.ttf"), bold_font=str(folder / "VeraBd.ttf")
    )
    label = Label(name="a", identifier=URL, values={"identifier": URL, "capacity": "36 Ah"}, metals=("Pb",))
    return SheetPrinter(template, Printing()).pdf([(label, code_of(URL, Printing()))], "labels")


def test_its_letters_are_in_the_file_wherever_it_lies(tmp_path: Path) -> None:
    for name in ("Vera.ttf", "VeraBd.ttf"):
        (tmp_path / name).write_bytes((FONTS / name).read_bytes())
    data = pdf(FONTS)

    assert data == pdf(tmp_path)
    assert data.count(b"/FontFile2") == 2
    assert "36 Ah" in pypdfium2.PdfDocument(BytesIO(data))[0].get_textpage().get_text_range()


def test_it_is_asked_for_what_it_can_show() -> None:
    used = load(msgspec.structs.replace(of_category("lmt"), font=str(FONTS / "Vera.ttf")))

    assert missing("Łowicz 36 Ah", used.plain) == ""
    assert missing("漢字 36 Ah", used.plain) == "字漢"


def test_one_font_does_for_both() -> None:
    template = msgspec.structs.replace(of_category("lmt"), font=str(FONTS / "Vera.ttf"))

    assert load(template) == Fonts(str(FONTS / "Vera.ttf"), str(FONTS / "Vera.ttf"))
    assert load(of_category("lmt")) == Fonts("Helvetica", "Helvetica-Bold")


@pytest.mark.parametrize("content", [None, b"", b"no font at all, but rather long" * 10])
def test_what_is_no_font_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a.ttf"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(CarrierError, match=r"a.ttf: no TrueType font that can be embedded"):
        load(msgspec.structs.replace(of_category("lmt"), font=str(path)))
