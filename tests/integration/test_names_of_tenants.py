"""Whose name or id a text is, nobody can make doubtful; a producer learns of no tenant but by name."""

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from tests.integration.test_immutability import session
from tests.support.database import Database
from tests.support.worker import command


@pytest.mark.parametrize("named", [str, lambda wanted: str(wanted).upper()])
def test_a_tenant_is_not_called_like_an_id(db: Database, named: type[str]) -> None:
    with pytest.raises(errors.CheckViolation):
        db.tenant(named(uuid4()))
    refused = command(db.url_as("bpc_app"), "tenant", "add", named(db.tenant()))
    assert (refused.returncode, "an id" in refused.stderr) == (2, True)


def test_a_producer_finds_a_tenant_that_it_can_name_and_lists_none(db: Database) -> None:
    tenant_id = db.tenant()
    found = "SELECT tenant_id::text, name FROM bpc_tenant_named(%s)"
    with session(db, "bpc_producer", None) as connection:
        for wanted in ("acme", tenant_id, tenant_id.upper()):
            assert connection.execute(found, [wanted]).fetchall() == [
                {"tenant_id": tenant_id, "name": "acme"}
            ]
        for unknown in ("acm", "ACME", "", "%", None):
            assert connection.execute(found, [unknown]).fetchall() == []
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("SELECT name FROM tenants")


@pytest.mark.parametrize("role", ["bpc_producer", "bpc_app"])
def test_payloads_are_compared_within_a_tenant(db: Database, role: str) -> None:
    job_id = db.enqueue("TEST_NOOP", '{"a": 1}')
    same = "SELECT bpc_same_payload(%s, %s, %s) AS same"
    with session(db, role, db.tenant()) as connection:
        for tenant, payload, answer in (
            ("acme", '{"a": 1}', True),
            ("acme", "{}", False),
            ("other", "{}", None),
        ):
            found = connection.execute(same, [db.tenant(tenant), job_id, payload]).fetchone()
            assert found == {"same": answer}


def test_an_owner_compares_no_payload_of_another_tenant(db: Database) -> None:
    job_id, ours = db.enqueue("TEST_NOOP"), db.tenant("other")
    for named in (ours, None):
        with session(db, "bpc_app", named) as connection:
            found = connection.execute("SELECT bpc_same_payload(%s, %s, '{}')", [db.tenant(), job_id])
            assert found.fetchall() == [{"bpc_same_payload": None}]


def test_there_is_one_way_to_compare_payloads(db: Database) -> None:
    with psycopg.connect(db.url) as connection:
        connection.execute("SELECT 'bpc_same_payload'::regproc")  # one function of that name, not two
