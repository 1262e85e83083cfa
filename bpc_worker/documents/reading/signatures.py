"""What a file really is, by its first bytes, when it is none of the formats that are read."""

_TEXT_PLEASE = "send the data itself as text/csv or application/json"

_ZIP = b"PK\x03\x04"
_SIGNATURES = (
    (
        _ZIP,
        "a ZIP archive or an Office file (xlsx, docx, ods)",
        "declare an XLSX as such, unpack it, or save the sheet as CSV",
    ),
    (b"PK\x05\x06", "an empty ZIP archive", _TEXT_PLEASE),
    (b"PK\x07\x08", "a split ZIP archive", "unpack it and send the file inside"),
    (b"%PDF", "a PDF", _TEXT_PLEASE),
    (b"\x1f\x8b", "a gzip archive", "unpack it and send the file inside"),
    (b"BZh", "a bzip2 archive", "unpack it and send the file inside"),
    (b"\xfd7zXZ\0", "an xz archive", "unpack it and send the file inside"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it and send the file inside"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it and send the file inside"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "unpack it and send the file inside"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Office file (xls, doc) or one with a password",
        "save the sheet as XLSX or CSV",
    ),
    (b"\x89PNG", "a PNG picture", _TEXT_PLEASE),
    (b"\xff\xd8\xff", "a JPEG picture", _TEXT_PLEASE),
    (b"GIF8", "a GIF picture", _TEXT_PLEASE),
    (b"\x7fELF", "a program", _TEXT_PLEASE),
    (b"{\\rtf", "an RTF text", _TEXT_PLEASE),
    (b"SQLite format 3\0", "a SQLite database", _TEXT_PLEASE),
)
_TAR = (257, b"ustar")


def is_zip(content: bytes) -> bool:
    return content.startswith(_ZIP)


def foreign(content: bytes) -> str | None:
    """What it is and what to do, if the first bytes are those of a file that cannot be read here."""
    for start, what, advice in _SIGNATURES:
        if content.startswith(start):
            return f"this is {what}; {advice}"
    at, mark = _TAR
    if content[at : at + len(mark)] == mark:
        return "this is a tar archive; unpack it and send the file inside"
    return None
