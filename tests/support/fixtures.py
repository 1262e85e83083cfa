"""What tests of real processes share, short and long ones: a broker, a server that may be stopped, a line."""

import os
from collections.abc import Iterator

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.other_postgres import OLDER, older_bin_dir
from tests.support.outages import server_of_its_own
from tests.support.rabbitmq import RabbitNode, get_node, or_skip
from tests.support.tcp_proxy import TcpProxy


@pytest.fixture(scope="session")
def rabbit() -> Iterator[RabbitNode]:
    """One for all tests that do not need a fresh one. They may break it; whoever does repairs it."""
    node = or_skip(get_node)
    yield node
    node.close()


@pytest.fixture
def node(rabbit: RabbitNode) -> Iterator[RabbitNode]:
    """Running before and after, whatever a test does to it."""
    rabbit.start()
    yield rabbit
    rabbit.start()


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    with server_of_its_own() as server:
        yield server


@pytest.fixture
def own_db(own_server: Server) -> Iterator[Database]:
    """In a server that may be stopped."""
    with databases.database(own_server) as database:
        yield database


@pytest.fixture
def proxy(db: Database) -> Iterator[TcpProxy]:
    """A line to the database that can be broken."""
    with TcpProxy("127.0.0.1", db.server.port) as running:
        yield running


@pytest.fixture(scope="module", params=["newest", "older"])
def any_db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """One for all tests of a module, in a PostgreSQL of either release."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "older":
            folder = older_bin_dir()
            if folder is None:
                assert os.environ.get("CI") != "true", f"PostgreSQL {OLDER} could not be had"
                pytest.skip(f"no PostgreSQL {OLDER} here; BPC_TEST_OLDER_PG_BIN names its programs")
            patch.setenv("BPC_TEST_PG_BIN", str(folder))
        with databases.postgres(databases.NO_FSYNC, in_memory=True) as server:
            databases.make_template(server)
            with databases.database(server) as db:
                db.tenant()
                yield db
