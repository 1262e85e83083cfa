"""The fonts of labels: Helvetica, which every reader of PDF has, or TrueType files that are embedded."""

from dataclasses import dataclass

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from bpc_worker.carrier.errors import CarrierError
from bpc_worker.carrier.template import Template, Text

_POINTS_PER_MM = 72 / 25.4
_BREAK_AFTER = " /"  # words, and the parts of a URL


@dataclass(frozen=True, slots=True)
class Fonts:
    plain: str = "Helvetica"
    bold: str = "Helvetica-Bold"

    def of(self, text: Text) -> str:
        return self.bold if text.bold else self.plain


def load(template: Template) -> Fonts:
    """In each process that draws; a template with one font has it in bold places too."""
    if template.font is None:
        return Fonts()
    plain = _embedded(template.font)
    return Fonts(plain, plain if template.bold_font is None else _embedded(template.bold_font))


def _embedded(path: str) -> str:
    """Known in this process by where it lies."""
    try:
        pdfmetrics.registerFont(TTFont(path, path))
    except (TTFError, OSError, ValueError) as error:
        raise CarrierError(f"{path}: no TrueType font that can be embedded: {error}") from error
    return path


def width_mm(text: str, font: str, size_pt: float) -> float:
    return float(pdfmetrics.stringWidth(text, font, size_pt)) / _POINTS_PER_MM


def missing(text: str, font: str) -> str:
    """The characters that the font cannot show."""
    face = pdfmetrics.getFont(font)
    if isinstance(face, TTFont):
        known = face.face.charToGlyph
        return "".join(sorted({letter for letter in text if ord(letter) not in known}))
    return "".join(sorted({letter for letter in text if not _in_latin(letter)}))


def _in_latin(letter: str) -> bool:
    try:
        return letter.isprintable() and bool(letter.encode("cp1252"))
    except UnicodeEncodeError:
        return False


def lines_of(text: str, font: str, size_pt: float, at_most_mm: float) -> list[str]:
    """Broken after blanks and slashes where that is possible, else wherever the line is full."""
    lines = []
    while text:
        end = _fitting(text, font, size_pt, at_most_mm)
        if end < len(text):
            end = max((text.rfind(mark, 0, end) + 1 for mark in _BREAK_AFTER), default=0) or end
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return lines


def _fitting(text: str, font: str, size_pt: float, at_most_mm: float) -> int:
    """How many characters fit on a line; one at least, or it would never end."""
    if width_mm(text, font, size_pt) <= at_most_mm:
        return len(text)
    end = len(text)
    while end > 1 and width_mm(text[:end], font, size_pt) > at_most_mm:
        end -= 1
    return end
