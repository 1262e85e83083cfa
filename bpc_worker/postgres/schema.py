"""What the database says of its schema."""

from psycopg.rows import DictRow

from bpc_worker.jobs.errors import SchemaMismatch
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.migrate import Applied, Ledger
from bpc_worker.postgres.sql_files import query

_UNDEFINED_TABLE = "42P01"


async def read_ledger(dsn: Dsn, *, role: str | None = None) -> Ledger:
    """What was applied; nothing at all when the database was never migrated. `role`: as which it is read."""
    link = Link(dsn)
    if role is not None:
        link.begin_with({"role": role})
    try:
        migrations = [Applied(**row) for row in await _rows(link, "applied")]
        functions = [(row["name"], row["checksum"]) for row in await _rows(link, "functions")]
    finally:
        link.drop()
    return Ledger(migrations, frozenset(functions))


async def _rows(link: Link, name: str) -> list[DictRow]:
    try:
        return await link.run(query(f"schema/{name}"), timeout=link.dsn.connect_timeout)
    except SchemaMismatch as error:
        if error.sqlstate == _UNDEFINED_TABLE:  # the ledger is not there
            return []
        raise
