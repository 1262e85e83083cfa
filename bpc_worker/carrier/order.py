"""What is to be printed: checked as a whole before the first file is written, and cut into parts."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Literal

from bpc_worker.carrier.code import PrintedSize, Printing, printed_size
from bpc_worker.carrier.errors import refuse
from bpc_worker.carrier.fonts import Fonts, lines_of, load, missing
from bpc_worker.carrier.label import Label
from bpc_worker.carrier.sheet import metals_box
from bpc_worker.carrier.template import Template, Text, meetings

Format = Literal["svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf")

_COLUMNS = (
    "number",
    "serial",
    "identifier",
    *FORMATS,
    "page",
    "place",
    "level",
    "modules",
    "module_mm",
    "side_mm",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    labels: Sequence[Label]
    template: Template
    printing: Printing
    formats: frozenset[Format] = frozenset(FORMATS)
    sheets_per_file: int = 100

    @property
    def labels_per_file(self) -> int:
        return self.sheets_per_file * self.template.sheet.labels


@dataclass(frozen=True, slots=True)
class Part:
    """The labels of one PDF file."""

    number: int
    labels: Sequence[Label]

    @property
    def pdf_name(self) -> str:
        return f"labels-{self.number:04}.pdf"


def parts(order: Order) -> list[Part]:
    """However many processes there are, the files are the same."""
    size = order.labels_per_file
    starts = range(0, len(order.labels), size)
    return [Part(number, order.labels[start : start + size]) for number, start in enumerate(starts, start=1)]


def check(order: Order) -> None:
    """Whether every code has its room and every text its place."""
    fonts = load(order.template)
    problems = [problem for label in order.labels for problem in _label_problems(order, fonts, label)]
    distinct = {label.metals for label in order.labels if label.metals}
    for metals in sorted(distinct):
        boxes = order.template.boxes | {" and ".join(metals): metals_box(order.template, fonts, metals)[1]}
        problems.extend(f"template: {each}" for each in meetings(order.template.label_box, boxes))
    refuse(problems)


def table(order: Order) -> bytes:
    """What is where, as CSV: the list for whoever prints, and for whoever pastes labels on."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for part in parts(order):
        for index, label in enumerate(part.labels):
            number = (part.number - 1) * order.labels_per_file + index + 1
            page, place = divmod(index, order.template.sheet.labels)
            names = {
                "svg": f"svg/{label.name}.svg",
                "png": f"png/{label.name}.png",
                "pdf": f"pdf/{part.pdf_name}",
            }
            size = printed_size(label.identifier, order.printing)
            files = (names[each] if each in order.formats else "" for each in FORMATS)
            on_sheet = (page + 1, place + 1) if "pdf" in order.formats else ("", "")
            rows.writerow(
                (number, label.values.get("serial", ""), label.identifier, *files, *on_sheet,
                 order.printing.level, size.modules, f"{size.module_mm:.4f}", f"{size.side_mm:.3f}")
            )  # fmt: skip
    return text.getvalue().encode()


def _label_problems(order: Order, fonts: Fonts, label: Label) -> Iterator[str]:
    size = printed_size(label.identifier, order.printing)
    if size.room_mm > order.template.code.room_mm:
        yield f"{label.identifier}: {_too_large(size, order.template.code.room_mm)}"
    for text in order.template.texts:
        yield from (f"{label.identifier}: {problem}" for problem in _text_problems(text, fonts, label))


def _too_large(size: PrintedSize, room_mm: float) -> str:
    code = f"its code has {size.modules} modules of {size.module_mm:.3f} mm"
    needs = f"with the light ones around it needs {size.room_mm:.1f} mm; the template has {room_mm:g}"
    return f"{code} and {needs}; allow smaller ones with --side-mm or --module-mm, or make room"


def _text_problems(text: Text, fonts: Fonts, label: Label) -> Iterator[str]:
    words = text.filled(label.values)
    if words is None:
        if text.needed:
            lacking = ", ".join(name for name in text.names if not label.values.get(name))
            yield f"no {lacking} for {text.text!r}; add a column of that name, or say it for all with --set"
        return
    font = fonts.of(text)
    if unknown := missing(words, font):
        yield f"{words!r} has characters that {font} lacks: {unknown}; name a font in the template"
    elif len(lines_of(words, font, text.size_pt, text.width_mm)) > text.lines:
        yield f"{words!r} needs more than {text.lines} lines of {text.width_mm:g} mm at {text.size_pt:g} pt"
