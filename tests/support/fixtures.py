"""What tests of real processes share, short and long ones: a broker, a server that may be stopped, a line."""

from collections.abc import Iterator

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
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
