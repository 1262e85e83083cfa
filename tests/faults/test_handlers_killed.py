"""Every step of a passport's way, killed before, in and after its transaction: the rows of one clean run."""

import pytest

from bpc_worker.adapters.postgres_server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.kills import MOMENTS, TRANSACTIONS, clean_run, killed_run


@pytest.fixture(scope="module")
def clean(server: Server) -> dict[str, list[str]]:
    with databases.database(server) as db:
        return clean_run(db)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("nth", range(1, TRANSACTIONS + 1))
def test_a_killed_worker_leaves_no_trace(
    db: Database, clean: dict[str, list[str]], moment: str, nth: int
) -> None:
    assert killed_run(db, moment, nth) == clean
