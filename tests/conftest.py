"""Markers by folder; one real PostgreSQL per session, one database per test."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import is_hypothesis_test, settings

from bpc_worker.observability import log
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support import order, pgbouncer
from tests.support.database import Database
from tests.support.published import SKIPPED

pytest_plugins = ["tests.support.fixtures"]

_HERE = Path(__file__).parent
# Left out of `make quick`, never of `make test`; so are the tests of the core.
_SLOW = frozenset(
    ["test_formats_docs.py", "test_qr_image.py", "test_rule_packages.py", "test_config_layers.py"]
)

_CORE = "bpc_worker.core"

# Machines are busy, so no deadline for a single example; and a gate must not depend on dice.
settings.register_profile("patient", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("patient")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out for want of the published vectors must not pass for tested."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(SKIPPED in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"NOT TESTED: {count} tests, because {SKIPPED}", red=True, bold=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: order.rank(item.path, _HERE))
    for item in items:
        folder = item.path.relative_to(_HERE).parts[0]
        if folder in {"integration", "acceptance", "faults"}:
            item.add_marker(folder)
        if pgbouncer.ON and item.get_closest_marker("direct"):
            item.add_marker(pytest.mark.skip(reason="about a connection without a pooler in between"))
        if folder == "unit" and (item.path.name in _SLOW or "core" in item.path.parts):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The coverage of the core is measured in its own tests alone, and not where dice are thrown: a gate must
    not depend on them. Measuring the rest would take twice as long and show nothing new.
    """
    measuring = Coverage.current()
    if measuring is None or measuring.get_option("run:source") != [_CORE] or _is_measured(item):
        return (yield)
    measuring.stop()
    try:
        return (yield)
    finally:
        measuring.start()


def _is_measured(item: pytest.Item) -> bool:
    if "core" not in item.path.relative_to(_HERE).parts or item.get_closest_marker("unmeasured"):
        return False
    return not (isinstance(item, pytest.Function) and is_hypothesis_test(item.obj))


@pytest.fixture(autouse=True, scope="session")
def strict_logs() -> None:
    """Any log key that is not on the list fails the test that causes it."""
    log.configure(level="debug", fmt="json", strict=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with databases.postgres(databases.NO_FSYNC, in_memory=True) as running:
        databases.make_template(running)
        yield running


@pytest.fixture
def db(server: Server) -> Iterator[Database]:
    with databases.database(server) as database:
        yield database


@pytest.fixture(scope="module")
def untouched_db(server: Server) -> Iterator[Database]:
    """One for all tests of a file that only look at it: to make one takes longer than such a test."""
    with databases.database(server) as database:
        yield database
