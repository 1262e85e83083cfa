"""Jobs of thirty days, the last hour the busiest: all states, types and queues, and deaths of many causes."""

from tests.support.database import Database
from tests.support.full_size.causes import CAUSES
from tests.support.full_size.statements import read

_DAYS = 30

_TYPES = [
    "INGEST_DOCUMENT", "PARSE_FACTS", "BUILD_SNAPSHOT", "COMPILE_PASSPORT", "SIGN_PASSPORT", "GENERATE_QR",
    "EXPORT_PASSPORT", "DELIVER_WEBHOOK", "RECORD_DEAD_LETTER",
]  # fmt: skip
_INDEXES = (
    "SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS made FROM pg_index"
    " WHERE indrelid = 'jobs'::regclass AND NOT indisunique"
)


def fill(db: Database, count: int) -> None:
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET maintenance_work_mem = '256MB'")
        indexes = connection.execute(_INDEXES).fetchall()
        for index in indexes:
            connection.execute(f"DROP INDEX {index['name']}".encode())
        connection.execute(read("job_kinds").encode())
        connection.execute(read("causes").encode())
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO death_causes VALUES (%s, %s, %s, %s)", CAUSES)
        connection.execute(read("jobs").encode(), {"count": count, "days": _DAYS, "causes": len(CAUSES)})
        for index in indexes:
            connection.execute(str(index["made"]).encode())
        connection.execute(read("job_events").encode())
        connection.execute(read("running").encode())
        connection.execute(read("workers").encode(), {"types": _TYPES})
        connection.execute(read("pauses").encode())
