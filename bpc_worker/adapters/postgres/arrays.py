"""Array literals. psycopg makes arrays too, but item by item in Python, with a search for quotes in each."""

from collections.abc import Iterable


def array(items: Iterable[object]) -> str:
    """The text of a one-dimensional PostgreSQL array of texts, numbers, uuids, times or bytes."""
    return "{" + ",".join([_item(item) for item in items]) + "}"


def _item(item: object) -> str:
    match item:
        case None:
            return "NULL"
        case str():
            return '"' + item.replace("\\", r"\\").replace('"', r"\"") + '"'
        case bytes():
            return rf'"\\x{item.hex()}"'
        case int() | float():
            return str(item)
        case _:
            return f'"{item}"'
