"""However the server behaves, a worker has few connections, and asks for few."""

import pytest

from tests.support import bounded
from tests.support.database import Database
from tests.support.outages import lease
from tests.support.rabbitmq import RabbitNode

pytestmark = pytest.mark.direct  # or with a pooler of its own


def test_a_standby_that_is_gone_fills_no_server(own_db: Database) -> None:
    bounded.without_its_standby(own_db, lease(12, 4), seconds=8)


def test_a_forgotten_lock_behind_a_pooler_takes_no_pool(db: Database) -> None:
    bounded.behind_a_lock(db, seconds=8)


def test_a_database_that_is_down_is_left_alone_however_loud_the_bell(
    own_db: Database, node: RabbitNode
) -> None:
    bounded.without_a_database(own_db, node, seconds=6)
