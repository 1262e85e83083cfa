"""One browser, one PostgreSQL, one town and its doors per process; nobody changes what is shared."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support import chromium as programs
from tests.support.database import Database
from tests.support.full_size import jobs, webhooks
from tests.support.serving import Serving, serving
from tests.support.town import Town, town

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# They need an environment of their own: `make test-browser`.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

# Identifiers of batteries lead to this machine, all other names to nowhere.
NAMES = "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
# One person, who clicks faster than any.
PATIENT = {"BPC_HTTP_REQUESTS_PER_SECOND": 10_000, "BPC_HTTP_REQUESTS_BURST": 10_000,
           "BPC_HTTP_TOKEN_REQUESTS_PER_SECOND": 10_000, "BPC_HTTP_TOKEN_REQUESTS_BURST": 10_000}  # fmt: skip


@contextmanager
def opened(db: Database, *doors: str, **settings: object) -> Iterator[Serving]:
    """With logins that may do no more than these doors need."""
    public = {"BPC_PUBLIC_DATABASE_URL": db.url_as("bpc_public")}
    with serving(db.url_as("bpc_web"), *doors, **(PATIENT | public | settings)) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=programs.chromium(), args=[*programs.FLAGS, NAMES]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def helios(server: Server) -> Iterator[Town]:
    """Two batteries, a stopped build, and a few thousand generated jobs."""
    with town(server, "ev", "lmt") as made:
        jobs.fill(made.db, 3000)
        webhooks.fill(made.db, 60)
        made.db.run("ANALYZE")
        yield made


@pytest.fixture(scope="session")
def doors(helios: Town) -> Iterator[Serving]:
    with opened(helios.db) as running:
        yield running
