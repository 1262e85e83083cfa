"""A QR code as it is printed: how large, and drawn as SVG and PNG.

A module is a whole number of the printer's dots, so that no printer has to round: a code that is scaled to
a fraction of a dot has modules of uneven width, which is what readers stumble over.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from xml.sax.saxutils import escape

from bpc_worker.domain.qr_image import QUIET_MODULES, Level, QrMatrix, matrix_png, qr_matrix, qr_size

MM_PER_INCH = 25.4
MODULE_MM = 0.396  # GS1's smallest for a Digital Link QR code that consumers scan
SMALLEST_MODULE_MM = 0.33
SIDE_MM = 20.0

_DARK = re.compile("1+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printing:
    """How codes are printed: no smaller than this, by a printer with so many dots an inch."""

    level: Level = "M"
    module_mm: float = MODULE_MM
    side_mm: float = SIDE_MM  # of the code itself, without the light modules around it
    dpi: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedSize:
    modules: int  # a side, without the quiet zone
    dots: int  # a module
    dpi: int

    @property
    def module_mm(self) -> float:
        return self.dots * MM_PER_INCH / self.dpi

    @property
    def side_mm(self) -> float:
        return self.modules * self.module_mm

    @property
    def room_mm(self) -> float:
        """With the light modules around it."""
        return (self.modules + 2 * QUIET_MODULES) * self.module_mm


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    text: str
    matrix: QrMatrix
    size: PrintedSize


def printed_size(text: str, printing: Printing) -> PrintedSize:
    """As large as it must be, and up to a dot a module larger."""
    modules = qr_size(text, printing.level)
    # In decimals: a module of exactly so many dots must not become one more by a rounding error.
    inch = Decimal(str(MM_PER_INCH))
    dots = max(
        Decimal(str(printing.module_mm)) * printing.dpi / inch,
        Decimal(str(printing.side_mm)) * printing.dpi / (inch * modules),
    )
    return PrintedSize(modules=modules, dots=int(dots.to_integral_value(ROUND_CEILING)), dpi=printing.dpi)


def code_of(text: str, printing: Printing) -> Code:
    return Code(text=text, matrix=qr_matrix(text, printing.level), size=printed_size(text, printing))


def png(code: Code) -> bytes:
    """A pixel a dot: printed at its own resolution it has the size it should have."""
    return matrix_png(code.matrix, code.size.dots, code.size.dpi)


def svg(code: Code) -> bytes:
    """One path in units of a module, on a white square; width and height say how large it is on paper."""
    width = code.matrix.size + 2 * QUIET_MODULES
    millimetres = f"{code.size.room_mm:.4f}mm"
    dark = "".join(
        f"M{column + QUIET_MODULES} {row + QUIET_MODULES}h{length}v1h-{length}z"
        for row, column, length in dark_runs(code.matrix)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{millimetres}" height="{millimetres}" '
        f'viewBox="0 0 {width} {width}" shape-rendering="crispEdges">'
        f"<title>{escape(code.text)}</title>"
        f'<path fill="#fff" d="M0 0h{width}v{width}H0z"/><path d="{dark}"/></svg>\n'
    ).encode()


def dark_runs(matrix: QrMatrix) -> Iterator[tuple[int, int, int]]:
    """Row, first column and length of each stretch of dark modules."""
    for row, modules in enumerate(matrix.rows):
        for run in _DARK.finditer(f"{modules:0{matrix.size}b}"):
            start, end = run.span()
            yield row, start, end - start
