"""Load sql/…: from inside the wheel, or from the checkout beside the package."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


@cache
def sql_root() -> Traversable:
    beside = Path(__file__).parents[2] / "sql"
    packaged = files("bpc_worker") / "_sql"
    return packaged if packaged.is_dir() else beside


@cache
def query(name: str) -> bytes:
    """The statement in sql/queries/<name>.sql; psycopg takes bytes without a cast."""
    return (sql_root() / "queries" / f"{name}.sql").read_bytes()


def migrations() -> list[tuple[str, str]]:
    """(file name, text) of every migration, in order."""
    folder = sql_root() / "migrations"
    return sorted(
        (entry.name, entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    )
