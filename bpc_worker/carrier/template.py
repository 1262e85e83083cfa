"""What a label looks like and where labels lie on a sheet: data in TOML, one file per category of battery.

Lengths are in millimetres, from the top left corner of the sheet or of the label.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from bpc_worker.carrier.code import SIDE_MM
from bpc_worker.carrier.errors import CarrierError, refuse
from bpc_worker.files.reading import read_at_most

CATEGORIES = ("ev", "industrial", "lmt")  # those whose batteries have passports (Article 77)

_MAX_BYTES = 1024 * 1024
_LEADING = 1.2  # from one line of a text to the next, in sizes of the font
_MM_PER_POINT = 25.4 / 72
_NAMED = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_ON_EVERY_LABEL = ("identifier", "capacity")
_TOLERANCE_MM = 0.001

Place = Annotated[float, msgspec.Meta(ge=0, le=2000)]
Extent = Annotated[float, msgspec.Meta(gt=0, le=2000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=100)]


class Box(NamedTuple):
    left: float
    top: float
    width: float
    height: float

    def holds(self, other: "Box") -> bool:
        return (
            other.left >= self.left - _TOLERANCE_MM
            and other.top >= self.top - _TOLERANCE_MM
            and other.left + other.width <= self.left + self.width + _TOLERANCE_MM
            and other.top + other.height <= self.top + self.height + _TOLERANCE_MM
        )

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.left + other.width - _TOLERANCE_MM
            and other.left < self.left + self.width - _TOLERANCE_MM
            and self.top < other.top + other.height - _TOLERANCE_MM
            and other.top < self.top + self.height - _TOLERANCE_MM
        )


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Sheet(_Strict, frozen=True):
    """The paper, and where the labels lie on it."""

    width_mm: Extent
    height_mm: Extent
    columns: Count = 1
    rows: Count = 1
    left_mm: Place = 0.0  # of the first label
    top_mm: Place = 0.0
    across_mm: Place = 0.0  # from a label to the next one in its row
    down_mm: Place = 0.0  # and in its column

    @property
    def labels(self) -> int:
        return self.columns * self.rows

    def corner(self, place: int) -> tuple[float, float]:
        """Of a label on the sheet, row by row."""
        row, column = divmod(place, self.columns)
        return self.left_mm + column * self.across_mm, self.top_mm + row * self.down_mm


class LabelSize(_Strict, frozen=True):
    width_mm: Extent
    height_mm: Extent
    outline: bool = False  # a hairline to cut along; not for paper that is cut already


class CodeRoom(_Strict, frozen=True):
    """A square for the code with its light modules; it stands in the middle."""

    x_mm: Place
    y_mm: Place
    room_mm: Extent
    side_mm: Extent = SIDE_MM  # the code is at least so large, unless the command says otherwise

    @property
    def box(self) -> Box:
        return Box(self.x_mm, self.y_mm, self.room_mm, self.room_mm)


class CollectionSymbol(_Strict, frozen=True):
    """3 % of the battery's largest side, up to 50 x 50 mm (Article 13(4)); Cd and Pb stand beneath it."""

    x_mm: Place
    y_mm: Place
    size_mm: Annotated[float, msgspec.Meta(ge=4.7, le=200)]

    @property
    def box(self) -> Box:
        return Box(self.x_mm, self.y_mm, self.size_mm, self.size_mm)


class CeRoom(_Strict, frozen=True):
    """Left empty: who affixes the CE mark is answerable for it. It is at least 5 mm high."""

    x_mm: Place
    y_mm: Place
    width_mm: Annotated[float, msgspec.Meta(ge=7, le=2000)]
    height_mm: Annotated[float, msgspec.Meta(ge=5, le=2000)]

    @property
    def box(self) -> Box:
        return Box(self.x_mm, self.y_mm, self.width_mm, self.height_mm)


class Text(_Strict, frozen=True):
    """Words with {names} in them, whose values come with each label."""

    x_mm: Place
    y_mm: Place
    width_mm: Extent
    size_pt: Annotated[float, msgspec.Meta(ge=4, le=200)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    lines: Count = 1
    bold: bool = False
    needed: bool = True  # else it is left out where a name has no value

    @property
    def box(self) -> Box:
        return Box(self.x_mm, self.y_mm, self.width_mm, self.lines * self.line_mm)

    @property
    def line_mm(self) -> float:
        return self.size_pt * _MM_PER_POINT * _LEADING

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_NAMED.findall(self.text))

    def filled(self, values: Mapping[str, str]) -> str | None:
        """None when a name has no value."""
        if any(not values.get(name) for name in self.names):
            return None
        return _NAMED.sub(lambda found: values[found[1]], self.text)


class Template(_Strict, frozen=True):
    sheet: Sheet
    label: LabelSize
    code: CodeRoom
    collection_symbol: CollectionSymbol
    ce_mark: CeRoom
    texts: list[Text]
    font: str | None = None  # a TrueType file to embed, beside the template; without one Helvetica
    bold_font: str | None = None

    @property
    def label_box(self) -> Box:
        return Box(0, 0, self.label.width_mm, self.label.height_mm)

    @property
    def boxes(self) -> dict[str, Box]:
        """What has a place of its own on the label, by what it is called."""
        texts = {f"text {each.text!r}": each.box for each in self.texts}
        marks = {
            "code": self.code.box,
            "collection_symbol": self.collection_symbol.box,
            "ce_mark": self.ce_mark.box,
        }
        return marks | texts

    def one_per_page(self) -> "Template":
        """For a roll: every page is a label."""
        page = Sheet(width_mm=self.label.width_mm, height_mm=self.label.height_mm)
        return msgspec.structs.replace(self, sheet=page)


def built_in(category: str) -> bytes:
    return (files("bpc_worker.carrier") / "templates" / f"{category}.toml").read_bytes()


def of_category(category: str) -> Template:
    return parse(built_in(category), f"template {category}")


def read(path: Path) -> Template:
    """A user's own; its fonts are looked for beside it."""
    try:
        found = parse(read_at_most(path, _MAX_BYTES), str(path))
    except OSError as error:
        raise CarrierError(f"{path}: {error.strerror or error}") from error
    fonts = {
        name: str(path.parent / value)
        for name in ("font", "bold_font")
        if (value := getattr(found, name)) is not None
    }
    return msgspec.structs.replace(found, **fonts)


def parse(data: bytes, what: str) -> Template:
    try:
        found = msgspec.convert(tomllib.loads(data.decode()), Template, strict=True)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CarrierError(f"{what}: {error}") from error
    refuse([f"{what}: {problem}" for problem in _problems(found)])
    return found


def _problems(template: Template) -> Iterator[str]:
    """What cannot be printed, or would lack something that a label must have."""
    named = {name for each in template.texts if each.needed for name in each.names}
    for name in _ON_EVERY_LABEL:
        if name not in named:
            yield f"no text has {{{name}}}, which must stand on every label"
    for each in template.texts:
        if re.search("[{}]", _NAMED.sub("", each.text)):
            yield f"text {each.text!r}: {{ and }} stand only around names like {{capacity}}"
    yield from meetings(template.label_box, template.boxes)
    yield from _sheet_problems(template)


def meetings(label: Box, boxes: dict[str, Box]) -> Iterator[str]:
    """Which of these leave the label, and which lie on one another."""
    placed = [*boxes.items()]
    for number, (name, box) in enumerate(placed):
        if not label.holds(box):
            yield f"{name} reaches beyond the label of {label.width:g} x {label.height:g} mm"
        yield from (f"{name} and {other} overlap" for other, there in placed[:number] if box.meets(there))


def _sheet_problems(template: Template) -> Iterator[str]:
    sheet, label = template.sheet, template.label
    left, top = sheet.corner(sheet.labels - 1)
    paper = Box(0, 0, sheet.width_mm, sheet.height_mm)
    if not paper.holds(Box(left, top, label.width_mm, label.height_mm)):
        yield f"the last of {sheet.columns} x {sheet.rows} labels reaches beyond the sheet"
    if sheet.columns > 1 and sheet.across_mm < label.width_mm - _TOLERANCE_MM:
        yield "across_mm is less than the width of a label"
    if sheet.rows > 1 and sheet.down_mm < label.height_mm - _TOLERANCE_MM:
        yield "down_mm is less than the height of a label"
