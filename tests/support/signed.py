"""A database with one signed passport in it, made once and cloned for each test."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from uuid import UUID

import psycopg
from psycopg import sql

from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.pipeline import Pipeline, pipeline
from tests.support.worker import worker

_numbers = count(1)


@dataclass(frozen=True)
class Signed:
    """Where it is, and which version it is."""

    path: Pipeline
    version: UUID

    @property
    def db(self) -> Database:
        return self.path.db

    def tamper(self, statement: str, params: list[object] | None = None) -> None:
        """As a superuser can: without triggers, and without the checks that stand in the way."""
        with self.db.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            for table, check in (
                ("facts", "facts_hash_is_of_its_bytes"),
                ("data_snapshots", "data_snapshots_sealed_has_bytes"),
                ("passport_versions", "passport_versions_hashes"),
                ("rule_package_versions", "rule_package_versions_hash"),
            ):
                connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {check}")
            done = connection.execute(statement.encode(), params)
            assert done.rowcount >= 1, "nothing was changed"


@contextmanager
def signed_passport(server: Server) -> Iterator[Signed]:
    """The example battery, built by a real worker."""
    with databases.database(server) as db:
        path = pipeline(db)
        build = path.build()
        with worker(db.url_as("bpc_worker")):
            state = path.ended(build)
        assert state.state == "DONE", state.errors
        assert state.passport_version_id is not None
        yield Signed(path, state.passport_version_id)


@contextmanager
def clone(original: Signed) -> Iterator[Signed]:
    """A database of its own that begins like the original. Who is still connected to that is a pooler."""
    server = original.db.server
    name = f"bpc_clone_{os.getpid()}_{next(_numbers)}"
    former = original.db.url.rpartition("/")[2].partition("?")[0]
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [former]
        )
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(former))
        )
    try:
        yield Signed(Pipeline(Database(server, server.url(name)), original.path.tenant), original.version)
    finally:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
