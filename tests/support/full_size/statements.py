"""The statements that make the rows, one in a file."""

from pathlib import Path

_FOLDER = Path(__file__).parent / "sql"


def read(name: str) -> str:
    return (_FOLDER / f"{name}.sql").read_text()
