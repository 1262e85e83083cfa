"""Endpoints, and what was delivered to them."""

from tests.support.database import Database
from tests.support.full_size.statements import read


def fill(db: Database, count: int) -> None:
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(read("endpoints").encode())
        connection.execute(read("deliveries").encode(), {"count": count})
