"""The registry's table refuses keys that would prove nothing, whatever way they come in."""

import psycopg
import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.signing import Fault
from tests.support.database import Database
from tests.vectors import load

# All encodings of the eight points of small order: under such a key one signature fits many messages.
SMALL = [
    case["public_key"]
    for case in load("sign/refused")["cases"]
    if case["fault"] in {Fault.KEY_OF_SMALL_ORDER, Fault.KEY_NOT_CANONICAL}
]


def add(db: Database, key_id: str, public_key: bytes, tenant: str = "acme") -> None:
    """As an application would that goes around the commands."""
    tenant_id = db.tenant(tenant)
    with psycopg.connect(db.url_as("bpc_app"), autocommit=False) as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [str(tenant_id)])
        connection.execute(
            "INSERT INTO signing_keys (tenant_id, key_id, public_key) VALUES (%s, %s, %s)",
            [tenant_id, key_id, public_key],
        )


def test_no_point_of_small_order_is_stored_in_any_spelling(db: Database) -> None:
    assert len(SMALL) == 14
    for number, key in enumerate(SMALL):
        with pytest.raises(psycopg.errors.CheckViolation, match="signing_keys_small_order"):
            add(db, f"k{number}", bytes.fromhex(key))

    assert db.run("SELECT key_id FROM signing_keys") == []


@pytest.mark.parametrize("status", ["ACTIVE", "RETIRED", "REVOKED"])
def test_a_key_has_one_name_for_ever(db: Database, status: str) -> None:
    key = sha256(b"a key")
    add(db, "k1", key)
    db.run("UPDATE signing_keys SET status = %s WHERE status <> %s", [status, status])

    with pytest.raises(psycopg.errors.UniqueViolation):
        add(db, "k2", key)


def test_another_tenant_may_have_the_same_key(db: Database) -> None:
    """As in development, where one key signs for all."""
    add(db, "k1", sha256(b"a key"))
    add(db, "k1", sha256(b"a key"), tenant="other")

    assert len(db.run("SELECT key_id FROM signing_keys")) == 2
