"""The parts of a workbook's archive, as XML that is read piece by piece: nothing is trusted, nothing kept."""

import encodings.cp437  # noqa: F401 - zipfile wants it when it is too late: a child may not open files
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from struct import unpack_from
from typing import Protocol
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Unfit, quoted

_END = b"PK\x05\x06"
_END_OF_LARGE = b"PK\x06\x07"
_LARGE_BEFORE_END = 20  # bytes
_END_SIZE = 22
_LONGEST_COMMENT = 65_535
_DIRECTORY_ENTRY = 1024  # bytes, generously
_PIECE = 64 * 1024
_DEEPEST = 64
_ENCRYPTED = 1
_MACROS = re.compile(r"vbaProject|macrosheets/", re.IGNORECASE)
DAMAGED = "the workbook is damaged; open it, save it again and send that"


class TooLarge(Unfit):
    """Beyond a limit rather than wrong."""


class Handler(Protocol):
    """What somebody makes of an XML part; names are without their namespace."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, data: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Archive:
    file: ZipFile
    names: frozenset[str]

    def has(self, name: str) -> bool:
        return name in self.names

    def read(self, name: str, handler: Handler) -> None:
        for _ in self.pieces(name, handler):
            pass

    def pieces(self, name: str, handler: Handler) -> Iterator[None]:
        """Feeds the handler piece by piece, so that its caller can take what it has in between."""
        if name not in self.names:
            raise Unfit(f"the workbook has no part {quoted(name)}; {DAMAGED}")
        parser = _parser(handler)
        try:
            with self.file.open(name) as part:
                while piece := part.read(_PIECE):
                    parser.Parse(piece, False)
                    yield
            parser.Parse(b"", True)
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, expat.ExpatError, OSError) as error:
            raise Unfit(f"its part {quoted(name)} cannot be read; {DAMAGED}") from error
        yield


def opened(content: bytes, limits: Limits) -> Archive:
    """The archive, if what it says about itself is within the limits; more than it says is never unpacked."""
    _check_directory(content, limits)
    try:
        file = ZipFile(BytesIO(content))
    except (BadZipFile, ValueError, NotImplementedError, OSError, UnicodeError) as error:
        raise Unfit(DAMAGED) from error
    parts = file.infolist()
    names = frozenset(part.filename for part in parts)
    if len(names) < len(parts):
        raise Unfit(f"two parts of the workbook have one name; {DAMAGED}")
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise Unfit("the workbook is locked with a password; remove it and send that")
    if any(part.compress_type not in {ZIP_STORED, ZIP_DEFLATED} for part in parts):
        raise Unfit(DAMAGED)
    if any(_MACROS.search(name) for name in names):
        raise Unfit("the workbook holds macros; save it as XLSX without them and send that")
    if sum(part.file_size for part in parts) > limits.xlsx_bytes:
        raise TooLarge(f"the workbook unpacks to more than {limits.xlsx_bytes} bytes; send only the data")
    return Archive(file, names)


def _check_directory(content: bytes, limits: Limits) -> None:
    """Before it is read: millions of parts of no size are a bomb too."""
    at = content.rfind(_END, max(0, len(content) - _END_SIZE - _LONGEST_COMMENT))
    if at < 0 or len(content) < at + _END_SIZE:
        raise Unfit(f"the file breaks off before its end; {DAMAGED}")
    (size,) = unpack_from("<L", content, at + 12)
    large = content[max(0, at - _LARGE_BEFORE_END) :].startswith(_END_OF_LARGE)
    if large or size > limits.xlsx_parts * _DIRECTORY_ENTRY:
        raise TooLarge(f"the workbook has more than {limits.xlsx_parts} parts; send only the data")


def _parser(handler: Handler) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise TooLarge(f"XML of the workbook is nested deeper than {_DEEPEST}; {DAMAGED}")
        handler.start(_local(name), {_local(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(_local(name))

    def refuse(*_: object) -> None:
        raise Unfit(f"XML of the workbook declares entities; {DAMAGED}")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = refuse
    return parser


def _local(name: str) -> str:
    return name.rpartition("}")[2]
