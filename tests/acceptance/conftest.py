"""One RabbitMQ for all tests of this folder that do not need a fresh one."""

from collections.abc import Iterator

import pytest

from tests.support.rabbitmq import RabbitNode, get_node, or_skip


@pytest.fixture(scope="session")
def rabbit() -> Iterator[RabbitNode]:
    """Tests may break it; whoever does repairs it."""
    node = or_skip(get_node)
    yield node
    node.close()
