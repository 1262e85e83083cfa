"""Write sql/catalogue.jsonl from a freshly migrated database: `make catalogue`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psycopg
from psycopg.rows import DictRow, dict_row

from bpc_worker.doctor.catalogue import DESCRIBED, Description, Line, Thing, described, things
from bpc_worker.postgres.migrate import migrate
from bpc_worker.postgres.sql_files import query
from tests.support.database import NO_FSYNC, postgres

_ALTER = "ALTER TABLE public.{table}"

_CONSTRAINT: dict[str, str | None] = {
    "part_of": "{table}",
    "make": f"{_ALTER} ADD CONSTRAINT {{own}} {{state}}",
    "change": f"{_ALTER} DROP CONSTRAINT {{own}}, ADD CONSTRAINT {{own}} {{state}}",
}
# How the objects of each kind are usually described: {table}.{own} is a {name}.
USUAL: dict[str, Description] = {
    "function": {"part_of": "{name}"},
    "closed function": {
        "part_of": "{name}",
        "state": "closed",
        "make": "REVOKE EXECUTE ON FUNCTION public.{name} FROM PUBLIC",
    },
    "function owner": {
        "part_of": "{name}",
        "state": "bpc_owner",
        "make": "ALTER FUNCTION public.{name} OWNER TO {state}",
    },
    "table": {"part_of": "{name}", "state": "table", "make": "CREATE TABLE public.{name} ()"},
    "table owner": {"part_of": "{name}", "state": "bpc_owner", "make": f"{_ALTER} OWNER TO {{state}}"},
    "view": {"part_of": "{name}", "make": "{state}"},
    "view owner": {
        "part_of": "{name}",
        "state": "bpc_owner",
        "make": "ALTER VIEW public.{name} OWNER TO {state}",
    },
    "row security": {
        "part_of": "{name}",
        "state": "enabled",
        "make": f"{_ALTER} ENABLE ROW LEVEL SECURITY",
        "change": f"{_ALTER} ENABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY",
    },
    "column": {
        "part_of": "{table}",
        "make": f"{_ALTER} ADD COLUMN {{own}} {{state}} NOT NULL",
        "change": f"{_ALTER} ALTER COLUMN {{own}} TYPE {{state}}",
    },
    "generated column": {"part_of": "{table}"},
    "default": {"part_of": "{table}", "make": f"{_ALTER} ALTER COLUMN {{own}} SET DEFAULT {{state}}"},
    "not null": {
        "part_of": "{table}",
        "state": "not null",
        "make": f"{_ALTER} ALTER COLUMN {{own}} SET NOT NULL",
    },
    "primary key": _CONSTRAINT,
    "unique": _CONSTRAINT,
    "check": _CONSTRAINT,
    "foreign key": _CONSTRAINT,
    "index": {},
    "unique index": {},
    "trigger": {"part_of": "{table}", "make": "{state}"},
    "trigger that fires": {
        "part_of": "{table}",
        "state": "fires",
        "change": f"{_ALTER} ENABLE TRIGGER {{own}}",
    },
    "policy": {
        "part_of": "{table}",
        "state": "CREATE POLICY {own} ON public.{table} AS PERMISSIVE FOR ALL TO public"
        " USING ((tenant_id = bpc_tenant()))",
        "make": "{state}",
    },
    "grant": {"state": "granted", "make": "GRANT {name}"},
}
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
    lines = [USUAL, *(_line(thing) for thing in catalogue)]
    return "".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines)


def _line(thing: Thing) -> Line:
    """As little as tells it: each of its texts that is not what its kind has usually."""
    unusual: Description = {field: getattr(thing, field) for field in DESCRIBED}
    for field in DESCRIBED:
        less = {other: text for other, text in unusual.items() if other != field}
        if field in USUAL[thing.kind] | {"make": None, "change": None}:
            unusual = less if described(USUAL, thing.kind, thing.name, less) == thing else unusual
    return thing.kind, thing.name, unusual


if __name__ == "__main__":
    with postgres(NO_FSYNC) as server:
        migrate(server.url("postgres"))
        FILE.write_text(text_of(catalogue_of(server.url("postgres"))), encoding="utf-8")
