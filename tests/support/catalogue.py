"""Write sql/catalogue.jsonl from a freshly migrated database: `make catalogue`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psycopg
from psycopg.rows import DictRow, dict_row

from bpc_worker.doctor.catalogue import Thing, things
from bpc_worker.postgres.migrate import migrate
from bpc_worker.postgres.sql_files import query
from tests.support.database import NO_FSYNC, postgres

FILE = Path(__file__).parents[2] / "sql" / "catalogue.jsonl"


@contextmanager
def reading(url: str) -> Iterator[Callable[[str], list[DictRow]]]:
    """The rows of the doctor's queries, as it reads them."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute("SELECT set_config('search_path', 'public', true)")
        yield lambda kind: connection.execute(query(f"doctor/{kind}")).fetchall()


def catalogue_of(url: str) -> list[Thing]:
    """As it is shipped: without the statements that remove things, which are the database's own."""
    with reading(url) as rows:
        return [_shipped(thing) for thing in things(rows)]


def _shipped(thing: Thing) -> Thing:
    """Without what can be told from the rest, or from the database that differs."""
    change = None if thing.change == thing.make or thing.kind == "grant" else thing.change
    return msgspec.structs.replace(thing, change=change, unmake=None)


def text_of(catalogue: list[Thing]) -> str:
    return "".join(f"{msgspec.json.encode(thing).decode()}\n" for thing in catalogue)


if __name__ == "__main__":
    with postgres(NO_FSYNC) as server:
        migrate(server.url("postgres"))
        FILE.write_text(text_of(catalogue_of(server.url("postgres"))), encoding="utf-8")
