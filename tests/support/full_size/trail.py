"""The audit trail: a chain for each passport, hashed step by step as the database itself would."""

from tests.support.database import Database
from tests.support.full_size.statements import read

_TYPES = ("PASSPORT_COMPILED", "PASSPORT_SIGNED", "PASSPORT_ACTIVATED", "PASSPORT_EXPORTED")


def fill(db: Database, count: int) -> None:
    """So many, evenly over the generated passports."""
    chains = int(str(db.one("SELECT count(*) AS n FROM passports WHERE serial LIKE 'GEN%'")["n"]))
    length = count // max(chains, 1)
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        for version in range(1, length + 1):
            connection.execute(
                read("event_step"), {"version": version, "type": _TYPES[min(version, len(_TYPES)) - 1]}
            )
            connection.execute("ANALYZE events")
        connection.execute(read("event_heads").encode(), {"version": length})
