"""Which migrations the database has."""

from bpc_worker.jobs.errors import SchemaMismatch
from bpc_worker.postgres.connection import Dsn, Link
from bpc_worker.postgres.migrate import Applied
from bpc_worker.postgres.sql_files import query

_UNDEFINED_TABLE = "42P01"


async def applied_migrations(dsn: Dsn) -> list[Applied]:
    """In order; none at all when the database was never migrated."""
    link = Link(dsn)
    try:
        rows = await link.run(query("schema/applied"), timeout=dsn.connect_timeout)
    except SchemaMismatch as error:
        if error.sqlstate == _UNDEFINED_TABLE:  # not even the ledger is there
            return []
        raise
    finally:
        link.drop()
    return [
        Applied(str(row["version"]), str(row["checksum"]), bool(row["former_release_works"])) for row in rows
    ]
