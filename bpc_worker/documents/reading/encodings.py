"""The text of a document: UTF-8 with or without BOM, UTF-16 with BOM; nothing is guessed."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from itertools import islice

from bpc_worker.documents.problems import Problems

_LINES_NAMED = 10
_BAD_LINE = re.compile("([\udc80-\udcff]+)[^\n]*")
_UTF8_PLEASE = "save the file as UTF-8"


def decoded(content: bytes, problems: Problems) -> str | None:
    """The text without its BOM; None, with problems, where the bytes are no text."""
    if content.startswith((BOM_UTF32_LE, BOM_UTF32_BE)):
        problems.add("", f"the file is UTF-32, which is not read; {_UTF8_PLEASE}")
        return None
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return _utf16(content, problems)
    if b"\0" in content[:2]:
        problems.add("", f"the file looks like UTF-16 without its byte order mark; {_UTF8_PLEASE}")
        return None
    return _utf8(content.removeprefix(BOM_UTF8), problems)


def _utf16(content: bytes, problems: Problems) -> str | None:
    try:
        return content.decode("utf-16")
    except UnicodeDecodeError as error:
        problems.add(
            "", f"the file breaks off or is damaged at byte {error.start} of its UTF-16; {_UTF8_PLEASE}"
        )
        return None


def _utf8(content: bytes, problems: Problems) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        _name_bad_bytes(content, problems)
        return None


def _name_bad_bytes(content: bytes, problems: Problems) -> None:
    """The first lines with bytes that are no UTF-8: one cause, however many lines it spoils."""
    text = content.decode(errors="surrogateescape")
    line, counted = 1, 0
    for bad in islice(_BAD_LINE.finditer(text), _LINES_NAMED):
        line += text.count("\n", counted, bad.start())
        counted = bad.start()
        character = counted - text.rfind("\n", 0, counted)
        shown = " ".join(f"{ord(each) - 0xDC00:02X}" for each in bad[1][:4])
        message = f"character {character} is not UTF-8 (bytes {shown}), perhaps it is Windows-1252"
        problems.add(f"line {line}", f"{message}; {_UTF8_PLEASE}")
