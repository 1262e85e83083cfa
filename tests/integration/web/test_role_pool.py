"""As whom the doors ask: kept connections carry nothing of one caller to the next."""

import pytest

from bpc_worker import wiring
from bpc_worker.config import load as config
from bpc_worker.web.database.pool import RolePool
from tests.support.database import Database
from tests.support.domain import domain

WHO = (
    b"SELECT bpc_who() AS who, current_user::text AS role,"
    b" (SELECT count(DISTINCT tenant_id) FROM passports) AS tenants"
)


@pytest.mark.parametrize("left", ["bpc.tenant_id", "bpc.actor", "role"])
async def test_what_one_caller_left_in_a_session_is_not_the_next_ones(db: Database, left: str) -> None:
    """As a fault in one page might: it stays with the connection, and counts for nobody."""
    ours, theirs = domain(db).tenant_id, domain(db, "other").tenant_id
    value = {"bpc.tenant_id": theirs, "bpc.actor": "mallory", "role": "bpc_operator"}[left]
    pool = RolePool(wiring.dsn(config.load(env={}), db.url_as("bpc_web")), 1, patience=10)
    expected = [
        ({"role": "bpc_reader"}, {"who": "bpc_web_login", "role": "bpc_reader", "tenants": 2}),
        (
            {"role": "bpc_app", "bpc.tenant_id": ours, "bpc.actor": "jane"},
            {"who": "bpc_web_login/jane", "role": "bpc_app", "tenants": 1},
        ),
        ({"role": "bpc_app"}, {"who": "bpc_web_login", "role": "bpc_app", "tenants": 0}),
    ]
    try:
        for settings, found in expected:
            async with pool.acting({"role": "bpc_web"}) as link:
                left_behind = {"name": left, "value": value}
                await link.run(b"SELECT set_config(%(name)s, %(value)s, false)", left_behind, timeout=10)
            async with pool.acting(settings) as link:
                assert await link.run(WHO, timeout=10) == [found]
    finally:
        pool.close()
