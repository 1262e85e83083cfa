"""Markers by folder; one real PostgreSQL per session, one database per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker import log
from bpc_worker.adapters.postgres_server import Server
from tests.support import database as databases
from tests.support.database import Database

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(_HERE).parts[0]
        if folder in {"integration", "acceptance", "faults"}:
            item.add_marker(folder)


@pytest.fixture(autouse=True, scope="session")
def strict_logs() -> None:
    """Any log key that is not on the list fails the test that causes it."""
    log.configure(level="debug", fmt="json", strict=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with databases.postgres() as running:
        databases.make_template(running)
        yield running


@pytest.fixture
def db(server: Server) -> Iterator[Database]:
    with databases.database(server) as database:
        yield database
