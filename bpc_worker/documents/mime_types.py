"""What the ending of a file's name says about its content."""

from pathlib import PurePath

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_BY_ENDING = {".csv": "text/csv", ".json": "application/json", ".xlsx": XLSX}
_KEPT = {
    ".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
    ".txt": "text/plain",
}  # fmt: skip


def by_ending(name: str) -> str | None:
    return _BY_ENDING.get(PurePath(name).suffix.lower())


def of_attachment(name: str) -> str | None:
    """Of a file that is kept and not read."""
    return _KEPT.get(PurePath(name).suffix.lower())
