"""A minute of a server that does not answer, or is not there."""

from tests.support import bounded
from tests.support.database import Database
from tests.support.outages import lease
from tests.support.rabbitmq import RabbitNode

SECONDS = 60.0


def test_a_standby_that_is_gone_for_a_minute_fills_no_server(own_db: Database) -> None:
    bounded.without_its_standby(own_db, lease(60, 30), seconds=SECONDS)


def test_a_lock_that_is_held_for_a_minute_takes_no_pool(db: Database) -> None:
    bounded.behind_a_lock(db, seconds=SECONDS - 10)  # no lease ends


def test_a_database_that_is_down_for_a_minute_is_left_alone(own_db: Database, node: RabbitNode) -> None:
    bounded.without_a_database(own_db, node, seconds=SECONDS)
