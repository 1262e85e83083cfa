"""One browser, one server of PostgreSQL and one town per process."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support import chromium as programs
from tests.support.town import Town, town

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# They need an environment of their own: `make test-browser`.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    # Identifiers of batteries lead to this machine, all other names to nowhere.
    names = "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=programs.chromium(), args=[*programs.FLAGS, names]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def helios(server: Server) -> Iterator[Town]:
    """Nobody changes it."""
    with town(server, "ev") as made:
        yield made
