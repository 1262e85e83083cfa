"""Markers by folder; one real PostgreSQL per session, one database per test."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from bpc_worker import log
from bpc_worker.adapters.postgres_server import Server
from tests.support import database as databases
from tests.support.database import Database

_HERE = Path(__file__).parent
# Left out of `make quick`, never of `make test`; so are the tests of the core.
_SLOW = frozenset(["test_qr_image.py", "test_rule_packages.py", "test_config_layers.py"])

# Machines are busy, so no deadline for a single example; and a gate must not depend on dice.
settings.register_profile("patient", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(_HERE).parts[0]
        if folder in {"integration", "acceptance", "faults"}:
            item.add_marker(folder)
        if folder == "unit" and (item.path.name in _SLOW or "core" in item.path.parts):
            item.add_marker("slow")


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
