"""A tenant sees its own rows and no others; without a tenant nothing is seen. Made from the catalogue."""

from contextlib import suppress

import psycopg
import pytest
from psycopg import errors

from tests.integration.test_immutability import ROLES, change, domain_columns, refusal, session
from tests.support.database import Database
from tests.support.domain import domain
from tests.support.psql import done, psql, refused

READERS = ("bpc_worker", "bpc_app", "bpc_operator")
# Of the queue, which all tenants share and grants guard; and what the schema keeps about itself.
SHARED = {
    "tenants", "jobs", "job_events", "job_pauses", "job_pause_events", "rate_limits", "workers",
    "queue_samples", "queue_totals", "schedule_ticks", "prune_progress", "suspect_watch",
    "schema_migrations", "schema_functions", "api_tokens", "web_sessions", "token_events",
    "token_uses",
    "bulk_acts",
    "api_requests",  # closed to other tenants, and to all but bpc_app: test_api_requests.py
}  # fmt: skip


def test_every_table_is_of_the_domain_or_known_to_be_shared(db: Database) -> None:
    rows = db.run(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        " AND (tableowner = 'bpc_owner' OR tablename = 'schema_migrations')"
    )

    assert {str(row["tablename"]) for row in rows} == SHARED | set(domain_columns(db))


def test_every_table_of_the_domain_is_closed_to_other_tenants(db: Database) -> None:
    for table in domain_columns(db):
        secured = db.one(
            "SELECT relrowsecurity, relforcerowsecurity, pg_get_userbyid(relowner) AS owner"
            " FROM pg_class WHERE oid = %s::regclass",
            [table],
        )
        policies = db.run(
            "SELECT permissive, cmd, roles::text, qual, with_check FROM pg_policies"
            " WHERE schemaname = 'public' AND tablename = %s ORDER BY policyname",
            [table],
        )

        assert secured == {"relrowsecurity": True, "relforcerowsecurity": False, "owner": "bpc_owner"}, table
        if table.startswith("public_") or table == "status_lists":  # test_public_door.py looks at those
            policies = [policy for policy in policies if policy["roles"] != "{bpc_public}"]
        assert [(*policy.values(),) for policy in policies] == [
            ("PERMISSIVE", "SELECT", "{bpc_reader}", "(( SELECT bpc_tenant() AS bpc_tenant) IS NULL)", None),
            ("PERMISSIVE", "ALL", "{public}", "(tenant_id = bpc_tenant())", None),
        ], table


def test_every_tenant_id_is_needed_and_leads_to_a_tenant(db: Database) -> None:
    """Directly, or with the row that it goes with: no row can belong to one tenant and hang on another's."""
    for table in domain_columns(db):
        keys = db.run(
            "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = %s::regclass"
            " AND contype = 'f'",
            [table],
        )
        assert keys, table
        assert all(str(key["text"]).startswith("FOREIGN KEY (tenant_id") for key in keys), table
        nullable = db.one(
            "SELECT attnotnull FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'tenant_id'",
            [table],
        )
        assert nullable["attnotnull"], table


def test_no_role_of_ours_has_more_than_a_group(db: Database) -> None:
    rows = db.run(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'bpc\\_%%' AND rolname NOT LIKE '%%login'"
        " AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolcanlogin OR rolreplication)"
    )
    owned = db.run("SELECT relname FROM pg_class WHERE pg_get_userbyid(relowner) = ANY (%s)", [list(ROLES)])

    assert (rows, owned) == ([], [])


def test_what_runs_with_the_owners_rights_is_not_for_everybody(db: Database) -> None:
    rows = db.run(
        "SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE') AS public"
        " FROM pg_proc WHERE prosecdef AND pg_get_userbyid(proowner) = 'bpc_owner'"
    )

    assert rows
    for row in rows:
        config = [str(each) for each in row["proconfig"]]  # type: ignore[attr-defined]  # a list of texts
        assert config[0] == "search_path=pg_catalog, public, pg_temp", row["proname"]
        assert {*config[1:]} <= {"plan_cache_mode=force_custom_plan"}, row["proname"]
        assert not row["public"], row["proname"]


@pytest.mark.parametrize("role", READERS)
def test_a_tenant_sees_its_own_rows_and_without_a_tenant_nobody_sees_any(db: Database, role: str) -> None:
    ours, _ = domain(db), domain(db, "other")
    for table in domain_columns(db):
        for tenant_id, expected in ((ours.tenant_id, {ours.tenant_id}), (None, set()), ("", set())):
            with session(db, role, tenant_id) as connection:
                rows = connection.execute(f"SELECT tenant_id FROM {table}".encode()).fetchall()
            assert {str(row["tenant_id"]) for row in rows} == expected, (table, tenant_id)


def test_a_reader_sees_the_rows_of_all_tenants_and_of_one_where_it_names_it(db: Database) -> None:
    ours, theirs = domain(db), domain(db, "other")
    both = {ours.tenant_id, theirs.tenant_id}
    for table in domain_columns(db):
        for tenant_id, expected in ((None, both), ("", both), (ours.tenant_id, {ours.tenant_id})):
            with session(db, "bpc_reader", tenant_id) as connection:
                rows = connection.execute(f"SELECT tenant_id FROM {table}".encode()).fetchall()
            assert {str(row["tenant_id"]) for row in rows} == expected, (table, tenant_id)


def test_a_producer_sees_nothing_of_the_domain(db: Database) -> None:
    made = domain(db)
    for table in domain_columns(db):
        with session(db, "bpc_producer", made.tenant_id) as connection:
            assert refusal(connection, f"SELECT tenant_id FROM {table}") == "42501", table


@pytest.mark.parametrize("role", ["bpc_worker", "bpc_app"])
@pytest.mark.parametrize("as_whom", ["acme", None])
def test_nothing_is_inserted_for_another_tenant(db: Database, role: str, as_whom: str | None) -> None:
    domain(db)
    theirs = domain(db, "other", signed=False)
    tried = 0
    for table, columns in domain_columns(db).items():
        granted = {
            column
            for column in columns
            if db.one(
                "SELECT has_column_privilege(%s, %s, %s, 'INSERT') AS may", [role, f"public.{table}", column]
            )["may"]
        }
        if not granted:
            continue
        tried += 1
        names = ", ".join(sorted(granted))
        row = db.one(
            f"SELECT to_jsonb(t)::text AS text FROM {table} t WHERE tenant_id = %s LIMIT 1",
            [theirs.tenant_id],
        )
        copied = f"SELECT {names} FROM jsonb_populate_record(NULL::{table}, %s)"
        with (
            session(db, role, db.tenant() if as_whom else None) as connection,
            pytest.raises(errors.InsufficientPrivilege, match="row-level security"),
        ):
            connection.execute(f"INSERT INTO {table} ({names}) {copied}".encode(), [row["text"]])
    assert tried > 5


@pytest.mark.parametrize("role", ["bpc_worker", "bpc_app"])
def test_rows_of_another_tenant_are_not_touched(db: Database, role: str) -> None:
    ours = domain(db)
    theirs = domain(db, "other", signed=False)  # nothing but the policy keeps anybody from signing it
    granted = 0
    with session(db, role, ours.tenant_id) as connection:
        for table, columns in domain_columns(db).items():
            for column, kind in columns.items():
                statement = f"{change(table, column, kind)} WHERE tenant_id = '{theirs.tenant_id}'"
                with suppress(errors.InsufficientPrivilege), connection.transaction():
                    assert connection.execute(statement.encode()).rowcount == 0, (table, column)
                    granted += 1
    assert granted


@pytest.mark.parametrize("role", ["bpc_operator", "bpc_reader"])
def test_those_who_look_do_not_see_what_the_salts_are_made_from(db: Database, role: str) -> None:
    made = domain(db)
    set_tenant = f"SELECT set_config('bpc.tenant_id', '{made.tenant_id}', false)"

    for columns in ("disclosure_seed", "*", "v", "to_jsonb(v)"):
        said = refused(psql(db, role, f"{set_tenant}; SELECT {columns} FROM passport_versions v"))
        assert "permission denied" in said
    shown = done(psql(db, role, f"{set_tenant}; SELECT status FROM passport_versions"))
    assert shown.endswith("SIGNED")
    unseen = [
        column
        for column in domain_columns(db)["passport_versions"]
        if not db.one(
            "SELECT has_column_privilege(%s, 'passport_versions', %s, 'SELECT') AS may", [role, column]
        )["may"]
    ]
    assert unseen == ["disclosure_seed"]


@pytest.mark.parametrize("role", ["bpc_operator", "bpc_reader"])
def test_those_who_look_do_not_see_what_webhooks_are_signed_with(db: Database, role: str) -> None:
    domain(db)
    unseen = [
        column
        for column in domain_columns(db)["webhook_endpoints"]
        if not db.one(
            "SELECT has_column_privilege(%s, 'webhook_endpoints', %s, 'SELECT') AS may", [role, column]
        )["may"]
    ]
    assert sorted(unseen) == ["former_secret", "secret", "url"]


def test_the_tenant_is_forgotten_with_the_transaction(db: Database) -> None:
    made = domain(db)
    with psycopg.connect(db.url_as("bpc_worker")) as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [made.tenant_id])
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (1,)
        connection.commit()
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (0,)
