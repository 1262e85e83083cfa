"""Templates: ours are good, and a bad one is refused with what is wrong in it."""

import re
from pathlib import Path

import pytest

from bpc_worker.carrier.errors import CarrierError
from bpc_worker.carrier.template import CATEGORIES, built_in, of_category, parse, read

LMT = built_in("lmt").decode()


def changed(old: str, new: str) -> bytes:
    assert LMT.count(old) >= 1, old
    return LMT.replace(old, new, 1).encode()


@pytest.mark.parametrize("category", CATEGORIES)
def test_ours_have_all_that_a_label_must_have(category: str) -> None:
    template = of_category(category)
    names = {name for text in template.texts if text.needed for name in text.names}

    assert names == {"identifier", "capacity"}
    assert template.code.side_mm >= 20
    assert template.ce_mark.height_mm >= 5
    assert template.collection_symbol.size_mm >= 30


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[ce_mark]", "[ce_marks]", "unknown field `ce_marks`"),
        ("size_mm = 30", "size_mm = 4", r"Expected `float` >= 4.7 - at `\$.collection_symbol.size_mm`"),
        ("size_mm = 30", 'size_mm = "30"', "Expected `float`, got `str`"),
        ("size_mm = 30", "size_mm = 65", "collection_symbol reaches beyond the label of 99.1 x 67.7 mm"),
        ("size_mm = 30", "size_mm = 36", "ce_mark and collection_symbol overlap"),
        ("height_mm = 12", "height_mm = 4", "Expected `float` >= 5"),
        ('"{capacity}"', '"{volts}"', r"no text has {capacity}, which must stand on every label"),
        ('"{identifier}"', '"{serial}"', r"no text has {identifier}, which must stand"),
        ('"{product}"', '"{product"', r"'{product': { and } stand only around names"),
        ('"{product}"', '"{product.__class__}"', r"{ and } stand only around names"),
        ("rows = 4", "rows = 5", "the last of 2 x 5 labels reaches beyond the sheet"),
        ("across_mm = 101.6", "across_mm = 90", "across_mm is less than the width of a label"),
        ("down_mm = 67.7", "down_mm = 60", "down_mm is less than the height of a label"),
        ("columns = 2", "columns = 0", "Expected `int` >= 1"),
        ("[sheet]", "[sheet", "template x: Expected"),
    ],
)
def test_a_bad_template_says_what_is_wrong(old: str, new: str, said: str) -> None:
    with pytest.raises(CarrierError, match=said) as refused:
        parse(changed(old, new), "template x")

    assert all(problem.startswith("template x: ") for problem in refused.value.problems)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = LMT.replace("rows = 4", "rows = 6").replace('"{capacity}"', '"210 Ah"')

    with pytest.raises(CarrierError) as refused:
        parse(text.encode(), "x")

    assert len(refused.value.problems) == 2


def test_no_text_at_all_is_refused() -> None:
    with pytest.raises(CarrierError, match="'utf-8' codec can't decode"):
        parse(b"\xff", "x")


def test_a_file_is_read_and_its_fonts_lie_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'font = "a.ttf"\n{LMT}')

    assert read(path).font == str(tmp_path / "a.ttf")
    assert read(path).bold_font is None
    with pytest.raises(CarrierError, match=re.escape(f"{tmp_path / 'none'}: No such file")):
        read(tmp_path / "none")


def test_on_a_roll_every_page_is_a_label() -> None:
    page = of_category("lmt").one_per_page().sheet

    assert (page.width_mm, page.height_mm, page.labels, page.corner(0)) == (99.1, 67.7, 1, (0, 0))


def test_labels_lie_row_by_row() -> None:
    sheet = of_category("lmt").sheet

    assert sheet.corner(0) == (4.65, 13.1)
    assert sheet.corner(1) == pytest.approx((106.25, 13.1))
    assert sheet.corner(7) == pytest.approx((106.25, 216.2))
