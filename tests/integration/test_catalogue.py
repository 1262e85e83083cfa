"""What is shipped as the expected schema is what the migrations make, on whatever server the tests run."""

import psycopg
from psycopg import sql

from bpc_worker.doctor.catalogue import differences, expected, things
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import migrate
from tests.support.catalogue import FILE, catalogue_of, reading, text_of


def fresh(server: Server, name: str) -> str:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    migrate(server.url(name))
    return server.url(name)


def test_the_shipped_catalogue_is_what_the_migrations_make(server: Server) -> None:
    made = catalogue_of(fresh(server, "catalogue_made"))

    assert text_of(made) == FILE.read_text(encoding="utf-8"), "run: make catalogue"


def test_a_database_can_be_made_from_the_catalogue_alone(server: Server) -> None:
    """So every statement in it works, in the order in which it stands there."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE catalogue_pasted")
    url = server.url("catalogue_pasted")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET check_function_bodies = off")  # functions come first
        for thing in expected():
            if thing.make is not None and thing.kind not in {"default", "not null"}:
                connection.execute(thing.make.encode())

    with reading(url) as rows:
        assert list(differences(expected(), things(rows))) == []
