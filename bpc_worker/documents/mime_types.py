"""What the ending of a file's name says about its content."""

from pathlib import PurePath

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_BY_ENDING = {".csv": "text/csv", ".json": "application/json", ".xlsx": XLSX}


def by_ending(name: str) -> str | None:
    return _BY_ENDING.get(PurePath(name).suffix.lower())
