"""A text as a QR code: level M or Q, four light modules drawn on every side, as a 1-bit PNG.

`qrcode` encodes the text and draws the fixed patterns; it would also build and score eight whole codes
module by module to choose a mask, which is nine tenths of its time. The mask here is the same one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from operator import itemgetter
from typing import Literal

from PIL import Image
from qrcode import util
from qrcode.constants import ERROR_CORRECT_M, ERROR_CORRECT_Q
from qrcode.main import QRCode

from bpc_worker.core.passport.qr_mask import best_mask, mask_patterns
from bpc_worker.core.passport.qr_text import QrCapacityError

MODULE_PIXELS = 10
QUIET_MODULES = 4
DPI = 300

Level = Literal["M", "Q"]  # how much of a code may be lost: 15 % or 25 % of its codewords

_LEVELS: dict[Level, int] = {"M": ERROR_CORRECT_M, "Q": ERROR_CORRECT_Q}
_LARGEST_VERSION = 40
_MODE_BITS = 4
_CHARACTER_BITS = {  # as a fraction: three digits share 10 bits, two letters 11
    util.MODE_NUMBER: (10, 3),
    util.MODE_ALPHA_NUM: (11, 2),
    util.MODE_8BIT_BYTE: (8, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QrMatrix:
    """Without the quiet zone; `modules` reads row by row, the top left one in the highest bit, 1 is dark."""

    size: int
    mask: int
    modules: int

    @property
    def rows(self) -> tuple[int, ...]:
        """From the top; in each the leftmost module is the highest of `size` bits."""
        row = (1 << self.size) - 1
        return tuple(self.modules >> self.size * below & row for below in reversed(range(self.size)))


def qr_matrix(text: str, level: Level = "M") -> QrMatrix:
    """The smallest code of this level that holds the text in one segment."""
    data = util.QRData(text)
    version = _smallest_version(data, level)
    blank = _blank(version, level)
    codewords = bytes(util.create_data(version, _LEVELS[level], [data]))
    unmasked = blank.place(codewords)
    mask = best_mask(unmasked | blank.scored, blank.masks, blank.size)
    modules = unmasked ^ blank.masks[mask] | blank.finished[mask]
    return QrMatrix(size=blank.size, mask=mask, modules=modules)


def qr_size(text: str, level: Level = "M") -> int:
    """How many modules a side of that code has."""
    return 17 + 4 * _smallest_version(util.QRData(text), level)


def qr_png(text: str) -> bytes:
    """The code of level M in black on white, quiet zone included, ready to be printed at 300 dpi."""
    return matrix_png(qr_matrix(text), MODULE_PIXELS, DPI)


def matrix_png(matrix: QrMatrix, module_pixels: int, dpi: int) -> bytes:
    """The same for a code that is there already, with so many pixels a module and an inch."""
    width = matrix.size + 2 * QUIET_MODULES
    row_bytes = -(-width // 8)
    shift = row_bytes * 8 - width + QUIET_MODULES
    quiet = bytes(row_bytes * QUIET_MODULES)
    packed = quiet + b"".join((row << shift).to_bytes(row_bytes, "big") for row in matrix.rows) + quiet
    modules = Image.frombytes("1", (width, width), packed, "raw", "1;I")  # I: a set bit is black
    pixels = modules.resize((width * module_pixels, width * module_pixels), Image.Resampling.NEAREST)
    png = BytesIO()
    pixels.save(png, "PNG", dpi=(dpi, dpi))
    return png.getvalue()


def same_picture(one: bytes, other: bytes) -> bool:
    """Whether two PNGs show the same pixels: another release of a library may pack them otherwise."""
    try:
        with Image.open(BytesIO(one), formats=["PNG"]) as a, Image.open(BytesIO(other), formats=["PNG"]) as b:
            return a.size == b.size and a.convert("1").tobytes() == b.convert("1").tobytes()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # no picture at all
        return False


def _smallest_version(data: util.QRData, level: Level) -> int:
    # QRCode.best_fit would encode the whole text to learn its length, however long it is.
    capacity = util.BIT_LIMIT_TABLE[_LEVELS[level]]
    for version in range(1, _LARGEST_VERSION + 1):
        if _encoded_bits(data, version) <= capacity[version]:
            return version
    needed, most = _encoded_bits(data, _LARGEST_VERSION), capacity[_LARGEST_VERSION]
    raise QrCapacityError(
        f"{len(data)} bytes take {needed} bits; the largest QR code of level {level} holds {most}"
    )


def _encoded_bits(data: util.QRData, version: int) -> int:
    bits, characters = _CHARACTER_BITS[data.mode]
    length_bits: int = util.length_in_bits(data.mode, version)
    return _MODE_BITS + length_bits - (-len(data) * bits // characters)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blank:
    """What all codes of one version and level have in common."""

    size: int
    scored: int  # the fixed patterns while masks are compared
    finished: tuple[int, ...]  # the fixed patterns with the format information of each mask
    masks: tuple[int, ...]  # each only where data stands
    data_modules: int
    reading_order: Callable[[str], tuple[str, ...]]

    def place(self, codewords: bytes) -> int:
        """The square with the data at its places, and nothing else in it."""
        bits = f"{int.from_bytes(codewords, 'big'):0{8 * len(codewords)}b}"
        # A version has up to seven modules more than bits; one further 0 stands for all fixed patterns.
        return int("".join(self.reading_order(bits.ljust(self.data_modules + 1, "0"))), 2)


@lru_cache(maxsize=4)
def _blank(version: int, level: Level) -> _Blank:
    # Scored like qrcode, with format and version information left light: the order of masks depends on it.
    scored = _fixed_patterns(version, level, mask=0, scored=True)
    size = len(scored)
    order = [place for place in _places(size) if scored[place[0]][place[1]] is None]
    bit_at = {place: bit for bit, place in enumerate(order)}
    patterns = mask_patterns(size)
    data_area = _square([[module is None for module in row] for row in scored])
    return _Blank(
        size=size,
        scored=_square(scored),
        finished=tuple(
            _square(_fixed_patterns(version, level, mask=mask, scored=False)) for mask in range(len(patterns))
        ),
        masks=tuple(pattern & data_area for pattern in patterns),
        data_modules=len(order),
        reading_order=itemgetter(*(bit_at.get((i, j), -1) for i in range(size) for j in range(size))),
    )


def _fixed_patterns(version: int, level: Level, *, mask: int, scored: bool) -> list[list[bool | None]]:
    """Finders, timing, alignment, format and version information as qrcode draws them, None for data."""
    code = QRCode(version=version, error_correction=_LEVELS[level])
    code.data_cache = []  # nothing to encode,
    code.map_data = lambda _data, _mask: None  # and nothing to draw where data will stand
    code.makeImpl(scored, mask)
    modules: list[list[bool | None]] = code.modules
    return modules


def _square(modules: list[list[bool | None]]) -> int:
    return int("".join("1" if module else "0" for row in modules for module in row), 2)


def _places(size: int) -> Iterator[tuple[int, int]]:
    """Where bits go one after another: pairs of columns from the right, up and down in turn.

    Column 6 is all timing pattern and is stepped over (ISO/IEC 18004, 7.7.3).
    """
    down, up = range(size), range(size - 1, -1, -1)
    for turn, right in enumerate((*range(size - 1, 6, -2), 5, 3, 1)):
        for row in down if turn % 2 else up:
            yield row, right
            yield row, right - 1
