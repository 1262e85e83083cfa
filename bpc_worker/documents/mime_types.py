"""What the ending of a file's name says about its content."""

from pathlib import PurePath

_BY_ENDING = {".csv": "text/csv", ".json": "application/json"}


def by_ending(name: str) -> str | None:
    return _BY_ENDING.get(PurePath(name).suffix.lower())
