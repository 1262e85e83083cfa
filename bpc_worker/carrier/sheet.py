"""Sheets of labels as PDF, all of it vectors; no time and no chance in it: same labels, same bytes."""

from collections.abc import Sequence
from io import BytesIO
from math import sqrt

from reportlab.pdfgen.canvas import Canvas

from bpc_worker.carrier import fonts
from bpc_worker.carrier.code import Code, Printing, code_of, dark_runs
from bpc_worker.carrier.fonts import Fonts, lines_of, width_mm
from bpc_worker.carrier.label import Label
from bpc_worker.carrier.symbol import WHEELED_BIN, Area, Disc, Line, Point
from bpc_worker.carrier.template import Box, CodeRoom, Template, Text

MM = 72 / 25.4  # in points, PDF's own unit

_SYMBOL = "collection"
_HAIRLINE_PT = 0.25
_ASCENT = 0.78  # of a line, from its top to where letters stand, in sizes of the font
_CAPITAL = 0.65  # the height of a capital at least; Helvetica's is 0.72
_BETWEEN_METALS = 0.4
_BENEATH = 0.04  # the symbol, in its sizes


class SheetPrinter:
    """Draws labels by one template. A process makes one and draws many files with it."""

    def __init__(self, template: Template, printing: Printing) -> None:
        self.template = template
        self.printing = printing
        self.fonts = fonts.load(template)

    def pdf(self, labels: Sequence[tuple[Label, Code]], title: str) -> bytes:
        sheet = self.template.sheet
        target = BytesIO()
        canvas = Canvas(
            target,
            pagesize=(sheet.width_mm * MM, sheet.height_mm * MM),
            pageCompression=1,
            invariant=1,  # a fixed date, and an id made of the content
        )
        canvas.setTitle(title)
        canvas.setAuthor("bpc-worker")
        self._define_symbol(canvas)
        for number, (label, code) in enumerate(labels):
            place = number % sheet.labels
            if number and not place:
                canvas.showPage()
            left, top = sheet.corner(place)
            canvas.saveState()
            canvas.translate(left * MM, (sheet.height_mm - top) * MM)
            self._draw(canvas, label, code)
            canvas.restoreState()
        canvas.save()
        return target.getvalue()

    def one(self, label: Label) -> bytes:
        """A single label, on a page of its size."""
        page = SheetPrinter(self.template.one_per_page(), self.printing)
        return page.pdf([(label, code_of(label.identifier, self.printing))], label.identifier)

    def _draw(self, canvas: Canvas, label: Label, code: Code) -> None:
        """With the origin in the top left corner of the label, as everywhere in PDF upwards."""
        if self.template.label.outline:
            canvas.setLineWidth(_HAIRLINE_PT)
            box = self.template.label_box
            canvas.rect(0, -box.height * MM, box.width * MM, box.height * MM)
        _draw_code(canvas, self.template.code, code)
        symbol = self.template.collection_symbol.box
        canvas.saveState()
        canvas.translate(symbol.left * MM, -(symbol.top + symbol.height) * MM)
        canvas.doForm(_SYMBOL)
        canvas.restoreState()
        self._draw_metals(canvas, label.metals)
        for text in self.template.texts:
            self._draw_text(canvas, text, label)

    def _draw_text(self, canvas: Canvas, text: Text, label: Label) -> None:
        words = text.filled(label.values)
        if words is None:
            return
        font = self.fonts.of(text)
        canvas.setFont(font, text.size_pt)
        for number, line in enumerate(lines_of(words, font, text.size_pt, text.width_mm)):
            stands = (text.y_mm + number * text.line_mm) * MM + _ASCENT * text.size_pt
            canvas.drawString(text.x_mm * MM, -stands, line)

    def _draw_metals(self, canvas: Canvas, metals: Sequence[str]) -> None:
        if not metals:
            return
        size, box = metals_box(self.template, self.fonts, metals)
        canvas.setFont(self.fonts.bold, size * MM)
        left = box.left
        for metal in metals:
            canvas.drawString(left * MM, -(box.top + box.height) * MM, metal)
            left += width_mm(metal, self.fonts.bold, size * MM) + _BETWEEN_METALS * size

    def _define_symbol(self, canvas: Canvas) -> None:
        """Once in a file; every label refers to it."""
        size = self.template.collection_symbol.size_mm * MM
        canvas.beginForm(_SYMBOL, 0, 0, size, size)
        canvas.setLineCap(0)
        canvas.setLineJoin(0)
        for shape in WHEELED_BIN:
            _draw_shape(canvas, shape, size)
        canvas.endForm()


def metals_box(template: Template, used: Fonts, metals: Sequence[str]) -> tuple[float, Box]:
    """The size of the font in mm, and where the signs of metals stand: beneath the symbol, in its middle.

    Each covers a quarter of the symbol's area at least (Article 13(5)).
    """
    symbol = template.collection_symbol
    wide = [width_mm(metal, used.bold, MM) for metal in metals]  # of a font that is 1 mm high
    size = sqrt(symbol.size_mm**2 / 4 / (min(wide) * _CAPITAL))
    width = size * (sum(wide) + _BETWEEN_METALS * (len(metals) - 1))
    left = symbol.x_mm + max(0.0, (symbol.size_mm - width) / 2)
    top = symbol.y_mm + symbol.size_mm * (1 + _BENEATH)
    return size, Box(left, top, width, size * 0.75)


def _draw_code(canvas: Canvas, room: CodeRoom, code: Code) -> None:
    """One path with all dark modules, so that no reader of PDF leaves light seams between them."""
    corner = (room.room_mm - code.size.side_mm) / 2
    module = code.size.module_mm * MM
    canvas.saveState()
    canvas.translate((room.x_mm + corner) * MM, -(room.y_mm + corner) * MM)
    canvas.scale(module, -module)
    # Whole numbers, written as they are: the library's rectangles would take half of the whole time.
    dark = (f"{column} {row} {length} 1 re" for row, column, length in dark_runs(code.matrix))
    canvas.addLiteral(" ".join((*dark, "f")))
    canvas.restoreState()


def _draw_shape(canvas: Canvas, shape: Line | Area | Disc, size: float) -> None:
    def at(point: Point) -> Point:
        return point[0] * size, (1 - point[1]) * size

    if isinstance(shape, Disc):
        canvas.circle(*at(shape.middle), shape.radius * size, stroke=0, fill=1)
        return
    path = canvas.beginPath()
    path.moveTo(*at(shape.points[0]))
    for point in shape.points[1:]:
        path.lineTo(*at(point))
    if isinstance(shape, Area) or shape.closed:
        path.close()
    if isinstance(shape, Line):
        canvas.setLineWidth(shape.width * size)
    filled = isinstance(shape, Area)
    canvas.drawPath(path, stroke=int(not filled), fill=int(filled))
