"""Codes as a reader and a ruler see them: decoded by zxing-cpp, measured in pixels of a picture."""

import csv
import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import pypdfium2
import zxingcpp
from PIL import Image

from bpc_worker.carrier.template import Template

MM_PER_INCH = 25.4
MM = 72 / MM_PER_INCH  # in points
RENDERED_DPI = 300
_DARK = 128
_FINDER_MODULES = 7


@dataclass(frozen=True, slots=True)
class Seen:
    text: str
    level: str
    module_mm: float
    side_mm: float
    quiet_modules: float  # light ones around the code, on the side where there are fewest


def seen(picture: Image.Image, dpi: float) -> Seen:
    """The only code in the picture. Its module is a seventh of a finder's width, as a ruler would tell."""
    grey = picture.convert("L")
    [found] = zxingcpp.read_barcodes(grey, try_invert=False)
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    corners = [
        found.position.top_left,
        found.position.top_right,
        found.position.bottom_right,
        found.position.bottom_left,
    ]
    left, top, right, bottom = _dark_box(
        grey,
        min(c.x for c in corners),
        min(c.y for c in corners),
        max(c.x for c in corners),
        max(c.y for c in corners),
    )
    pixels = _first_run(grey, left, right, top) / _FINDER_MODULES
    side = ((right - left) + (bottom - top)) / 2
    quiet = _light_around(grey, (left, top, right, bottom))
    return Seen(
        text=found.text,
        level=found.ec_level,
        module_mm=pixels * MM_PER_INCH / dpi,
        side_mm=side * MM_PER_INCH / dpi,
        quiet_modules=quiet / pixels,
    )


def in_png(data: bytes) -> Seen:
    picture = Image.open(BytesIO(data))
    return seen(picture, picture.info["dpi"][0])


def in_pdf(path: Path, template: Template, page: int, place: int) -> Seen:
    """The label at this place of this page, both counted from 1."""
    return seen(label_picture(path, template, page, place), RENDERED_DPI)


def label_picture(
    path: Path, template: Template, page: int, place: int, dpi: int = RENDERED_DPI
) -> Image.Image:
    sheet, label = template.sheet, template.label
    left, top = sheet.corner(place - 1)
    beyond = (left, sheet.height_mm - top - label.height_mm, sheet.width_mm - left - label.width_mm, top)
    rendered = _document(path)[page - 1].render(
        scale=dpi / 72, crop=tuple(each * MM for each in beyond), grayscale=True
    )
    picture: Image.Image = rendered.to_pil()
    return picture


def table(out: Path) -> Iterator[dict[str, str]]:
    with (out / "codes.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def killed(_: object) -> NoReturn:
    """For a process of a pool: as if the machine had run out of memory."""
    os._exit(9)


@lru_cache(maxsize=1)
def _document(path: Path) -> pypdfium2.PdfDocument:
    return pypdfium2.PdfDocument(path)


def _dark_box(grey: Image.Image, *around: int) -> tuple[int, int, int, int]:
    """Of the dark pixels in this box and a little around it: the reader's corners are good to a module."""
    left, top, right, bottom = around
    more = (right - left) // 20
    outer = (
        max(0, left - more),
        max(0, top - more),
        min(grey.width, right + more),
        min(grey.height, bottom + more),
    )
    box = grey.crop(outer).point(lambda value: 255 if value < _DARK else 0).getbbox()
    assert box is not None
    return outer[0] + box[0], outer[1] + box[1], outer[0] + box[2], outer[1] + box[3]


def _first_run(grey: Image.Image, left: int, right: int, top: int) -> int:
    """How many dark pixels stand in a row from the top left corner on, two pixels below the edge."""
    row = grey.crop((left, top + 2, right, top + 3)).tobytes()
    return next(number for number, value in enumerate(row) if value >= _DARK)


def _light_around(grey: Image.Image, code: tuple[int, int, int, int]) -> int:
    """The width of the light frame around the code, up to a quarter of its side and the picture's edge."""
    left, top, right, bottom = code
    dark = grey.point(lambda value: 255 if value < _DARK else 0)
    dark.paste(0, code)

    def is_dark(width: int) -> bool:
        frame = (left - width, top - width, right + width, bottom + width)
        return dark.crop(frame).getbbox() is not None

    at_most = min((right - left) // 4, left, top, grey.width - right, grey.height - bottom)
    return bisect_left(range(1, at_most + 1), x=True, key=is_dark)
