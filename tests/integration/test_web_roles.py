"""The roles of the doors, as a hostile login would try them, on the newest PostgreSQL and on an older one.

bpc_web is nothing by itself, and what it becomes by SET ROLE is no more than that; bpc_public reads what is
made for everybody; who acted for whom is said, believed of bpc_web alone, and cannot be mistaken.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from tests.integration.test_immutability import Connection, change, domain_columns
from tests.support.database import Database
from tests.support.domain import domain
from tests.support.events import append, next_event
from tests.support.operators import letters

MAY_BECOME = {"bpc_reader", "bpc_operator", "bpc_app"}
# What these may read and call; everything else is refused by the lack of a grant.
READS: dict[str, set[str]] = {
    "bpc_web": set(),
    "bpc_public": {
        "public_hosts", "public_keys", "public_models", "public_passports", "public_attachments",
        "public_contents", "status_lists",
    },
}  # fmt: skip
CALLS = {
    "bpc_web": {
        "bpc_login", "bpc_unseen", "bpc_who", "bpc_find_token", "bpc_begin_session", "bpc_find_session",
        "bpc_end_session",
    },
    "bpc_public": {"bpc_tenant"},
}  # fmt: skip


@contextmanager
def web(
    db: Database, role: str | None, tenant_id: str | None = None, actor: str | None = None
) -> Iterator[Connection]:
    """A transaction of a web server's login, as it begins every one; rolled back unless it was committed."""
    with psycopg.connect(db.url_as("bpc_web"), row_factory=psycopg.rows.dict_row) as connection:
        if role is not None:
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
        for name, value in (("bpc.tenant_id", tenant_id), ("bpc.actor", actor)):
            connection.execute("SELECT set_config(%s, %s, true)", [name, value or ""])
        yield connection
        connection.rollback()


def relations(db: Database) -> list[str]:
    return [
        str(row["relname"])
        for row in db.run(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'v', 'm', 'p', 'S')"
        )
    ]


@pytest.mark.parametrize("role", ["bpc_web", "bpc_public"])
def test_a_login_of_the_doors_has_what_it_is_given_and_nothing_else(any_db: Database, role: str) -> None:
    any_db.url_as(role)
    granted = any_db.run(
        "SELECT c.relname, p.privilege FROM pg_class AS c,"
        " unnest('{SELECT,INSERT,UPDATE,REFERENCES}'::text[]) AS p (privilege)"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p')"
        " AND has_any_column_privilege(%s, c.oid, p.privilege)"
        " UNION ALL SELECT c.relname, p.privilege FROM pg_class AS c,"
        " unnest('{DELETE,TRUNCATE,TRIGGER}'::text[]) AS p (privilege)"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p')"
        " AND has_table_privilege(%s, c.oid, p.privilege)",
        [f"{role}_login", f"{role}_login"],
    )
    callable_ = any_db.run(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " AND proowner = 'bpc_owner'::regrole AND has_function_privilege(%s, oid, 'EXECUTE')",
        [f"{role}_login"],
    )

    assert {(str(row["relname"]), str(row["privilege"])) for row in granted} == {
        (table, "SELECT") for table in READS[role]
    }
    assert {str(row["proname"]) for row in callable_} == CALLS[role]
    assert any_db.one("SELECT has_schema_privilege(%s, 'public', 'CREATE') AS may", [f"{role}_login"]) == {
        "may": False
    }


def test_of_a_status_list_everybody_sees_what_was_signed(any_db: Database) -> None:
    columns = any_db.run(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'status_lists'::regclass AND attnum > 0"
        " AND has_column_privilege('bpc_public', attrelid, attnum, 'SELECT') ORDER BY 1"
    )
    assert [row["attname"] for row in columns] == ["issuer", "status_list", "token", "token_as_of"]


@pytest.mark.parametrize("role", ["bpc_web", "bpc_public"])
def test_a_login_of_the_doors_reads_and_writes_nothing_by_itself(any_db: Database, role: str) -> None:
    """Tried, and not only looked up: a row of every table is there."""
    made = domain(any_db, f"a-{uuid4()}")
    with any_db.connect(role) as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [made.tenant_id])
        for table in relations(any_db):
            if table not in READS[role]:
                with pytest.raises(errors.InsufficientPrivilege):
                    connection.execute(f"SELECT count(*) FROM {table}".encode())
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(f"DELETE FROM {table}".encode())
            # The others: no table but a sequence; a view over two tables.
            assert refused.value.sqlstate in {"42501", "42809", "55000"}, (table, refused.value)
        for call in (
            "bpc_cancel_job(gen_random_uuid())", "bpc_retry_jobs()", "bpc_pause('queue', 'default', 'x')",
            "bpc_find_tenant('acme')", "bpc_uuid_v7()", "bpc_desired_workers(1)", "bpc_acts_for_all()",
        ):  # fmt: skip
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(f"SELECT {call}".encode())


def test_a_web_server_becomes_three_roles_and_no_other(any_db: Database) -> None:
    ours = any_db.run(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'bpc\\_%%' AND rolname NOT LIKE '%%login'"
    )
    with any_db.connect("bpc_web") as connection:
        became = set()
        for row in ours:
            with suppress(errors.InsufficientPrivilege):
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(str(row["rolname"]))))
                became.add(row["rolname"])
                connection.execute("RESET ROLE")
        for statement in ("SET SESSION AUTHORIZATION bpc_app", "SET SESSION AUTHORIZATION bpc_owner"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(statement.encode())

    assert became == MAY_BECOME | {"bpc_web"}
    with any_db.connect("bpc_public") as connection:
        for role in MAY_BECOME | {"bpc_web", "bpc_worker", "bpc_owner"}:
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))


def test_who_speaks_for_a_tenant_by_the_web_sees_and_changes_nothing_of_another(any_db: Database) -> None:
    ours, theirs = domain(any_db, f"a-{uuid4()}"), domain(any_db, f"b-{uuid4()}", signed=False)
    with web(any_db, "bpc_app", ours.tenant_id) as connection:
        for table, columns in domain_columns(any_db).items():
            rows = connection.execute(f"SELECT tenant_id FROM {table}".encode()).fetchall()
            assert {str(row["tenant_id"]) for row in rows} == {ours.tenant_id}, table
            for column, kind in columns.items():
                statement = f"{change(table, column, kind)} WHERE tenant_id = '{theirs.tenant_id}'"
                with suppress(errors.InsufficientPrivilege), connection.transaction():
                    assert connection.execute(statement.encode()).rowcount == 0, (table, column)
    for tenant_id in (None, ""):
        with web(any_db, "bpc_app", tenant_id) as connection:
            for table in [*domain_columns(any_db), "own_jobs", "api_tokens"]:
                read = b"SELECT tenant_id FROM %b LIMIT 1" % table.encode()
                assert connection.execute(read).fetchall() == [], table


@pytest.mark.parametrize("act", ["bpc_cancel_job", "bpc_retry_job", "bpc_discard_job"])
def test_jobs_of_another_tenant_are_refused_though_the_login_may_become_an_operator(
    any_db: Database, act: str
) -> None:
    mine, other = f"a {uuid4()}", f"b {uuid4()}"
    [foreign], [own] = letters(any_db, tenant=other), letters(any_db, tenant=mine)
    with web(any_db, "bpc_app", any_db.tenant(mine), "jane") as connection:
        for job_id in (foreign, uuid4()):
            with pytest.raises(errors.NoDataFound, match="no job"), connection.transaction():
                connection.execute(f"SELECT {act}(%s)".encode(), [job_id])
        connection.execute(f"SELECT {act}(%s)".encode(), [own])
        for kind, name in (("tenant", any_db.tenant(other)), ("queue", "default"), ("type", "TEST_NOOP")):
            for call in ("bpc_pause(%s, %s, 'x')", "bpc_resume(%s, %s)"):
                with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(f"SELECT {call}".encode(), [kind, name])
        for call in ("bpc_patch_and_retry(%s, '{a}', '1')", "bpc_replay_job(%s)", "bpc_explain_job(%s)"):
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(f"SELECT {call}".encode(), [foreign])
        retried = connection.execute("SELECT bpc_retry_jobs(of_type => 'TEST_NOOP') AS n").fetchone()
    assert retried == {"n": 0 if act != "bpc_cancel_job" else 1}
    assert any_db.job(foreign)["status"] == "DEAD_LETTER"


def test_who_looks_by_the_web_sees_all_tenants_and_writes_nothing(any_db: Database) -> None:
    made = [domain(any_db, f"{name}-{uuid4()}").tenant_id for name in "ab"]
    with web(any_db, "bpc_reader") as connection:
        for table in domain_columns(any_db):
            rows = connection.execute(f"SELECT tenant_id FROM {table}".encode()).fetchall()
            assert {*made} <= {str(row["tenant_id"]) for row in rows}, table
    writes = any_db.run(
        "SELECT c.relname FROM pg_class AS c, unnest('{INSERT,UPDATE}'::text[]) AS p (privilege)"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'p')"
        " AND (has_any_column_privilege('bpc_reader', c.oid, p.privilege)"
        "      OR has_table_privilege('bpc_reader', c.oid, 'DELETE'))"
    )
    assert writes == []


def test_whoever_acted_by_the_web_is_named(any_db: Database) -> None:
    [dead], tenant_id = letters(any_db), any_db.tenant(f"paused {uuid4()}")
    by = "bpc_web_login/jane@example.com"
    with web(any_db, "bpc_operator", actor="jane@example.com") as connection:
        connection.execute("SELECT bpc_retry_job(%s)", [dead])
        connection.execute("SELECT bpc_pause('tenant', %s, 'x')", [tenant_id])
        connection.execute("SELECT bpc_resume('tenant', %s)", [tenant_id])
        connection.execute("SELECT bpc_pause('tenant', %s, 'x')", [tenant_id])
        connection.commit()

    told = any_db.one("SELECT data ->> 'by' AS by FROM job_events WHERE job_id = %s", [dead])
    pause = any_db.one("SELECT paused_by FROM job_pauses WHERE name = %s", [tenant_id])
    history = any_db.run("SELECT DISTINCT by FROM job_pause_events WHERE name = %s", [tenant_id])
    assert (told, pause, history) == ({"by": by}, {"paused_by": by}, [{"by": by}])


@pytest.mark.parametrize("role", ["bpc_operator", "bpc_app", "bpc_worker", "bpc_reader"])
def test_the_word_of_nobody_else_counts(any_db: Database, role: str) -> None:
    with any_db.connect(role) as connection:
        connection.execute("SELECT set_config('bpc.actor', 'jane', false)")
        assert connection.execute("SELECT bpc_who() AS who").fetchone() == {"who": f"{role}_login"}


def test_an_actor_ends_with_its_transaction(any_db: Database) -> None:
    with any_db.connect("bpc_web") as connection:
        for actor, who in (("jane", "bpc_web_login/jane"), (None, "bpc_web_login")):
            with connection.transaction():
                if actor is not None:
                    connection.execute("SELECT set_config('bpc.actor', %s, true)", [actor])
                assert connection.execute("SELECT bpc_who() AS who").fetchone() == {"who": who}


@pytest.mark.parametrize(
    "actor",
    [
        " jane",
        "jane ",
        "ja\nne",
        "ja\tne",
        "\x1b[2Jjane",
        "ja\u202ene",
        "ja\u200bne",
        "ja\u00a0ne",
        "j" * 101,
    ],
)
def test_an_actor_that_the_eye_could_mistake_is_refused(any_db: Database, actor: str) -> None:
    with web(any_db, "bpc_operator", actor=actor) as connection, pytest.raises(errors.InvalidParameterValue):
        connection.execute("SELECT bpc_pause('queue', 'default', 'x')")


def test_no_login_is_mistaken_for_another_that_acts_for_somebody(any_db: Database) -> None:
    """Whatever they are called: what is written is different, and says where the login ends."""
    letter = uuid4().hex[:6]
    logins = [
        each.format(letter) for each in ("w{}", "w{}/jane", '"w{}"', '"w{}"/jane', '"w{}', 'w{}"', "w{}//")
    ]
    said = []
    for login in logins:
        name = sql.Identifier(login)
        any_db.run(sql.SQL("CREATE ROLE {} LOGIN IN ROLE bpc_web").format(name).as_string())
        for actor in ("", "jane", "/jane", "jane/jane", '"', '"/jane', "/"):
            with psycopg.connect(any_db.url, user=login) as connection:
                connection.execute("SELECT set_config('bpc.actor', %s, true)", [actor])
                said += [str(row[0]) for row in connection.execute("SELECT bpc_who()").fetchall()]
        any_db.run(sql.SQL("DROP ROLE {}").format(name).as_string())

    assert len(set(said)) == len(said) == 7 * len(logins)
    assert said[1] == f"w{letter}/jane"
    assert said[7] == f'"w{letter}/jane"'


@pytest.mark.parametrize("role", ["bpc_operator", "bpc_app"])
def test_nobody_has_a_server_act_in_another_name(any_db: Database, role: str) -> None:
    """What is asked for now and carried out later, by a login whose word counts, in the name of who asked."""
    tenant = f"bulk {uuid4()}"
    letters(any_db, 2, tenant=tenant)
    tenant_id = any_db.tenant(tenant)
    ask = "SELECT bpc_ask_bulk('discard', %s, NULL, NULL, NULL, NULL, NULL, now(), 2) AS id"
    page = "SELECT * FROM bpc_bulk_page(%s, %s, 10, 60)"
    with any_db.connect(role) as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [tenant_id])
        connection.execute("SELECT set_config('bpc.actor', 'jane', false)")
        connection.execute(ask.encode(), [tenant_id])
    with web(any_db, "bpc_operator", actor="somebody else") as connection:
        taken = connection.execute("SELECT * FROM bpc_take_bulk('test', 60)").fetchone() or {}
        connection.execute(page.encode(), [taken["bulk_act_id"], taken["lease_token"]])
        connection.execute(page.encode(), [taken["bulk_act_id"], taken["lease_token"]])
        connection.commit()

    told = any_db.run(
        "SELECT DISTINCT data ->> 'by' AS by FROM job_events JOIN jobs USING (job_id) WHERE tenant_id = %s",
        [tenant_id],
    )
    assert told == [{"by": f"bpc_web_login/login:{role}_login"}]
    assert any_db.one("SELECT status, asked_by FROM bulk_acts WHERE tenant_id = %s", [tenant_id]) == {
        "status": "DONE",
        "asked_by": f"{role}_login",
    }


def test_the_name_of_no_login_holds_up_what_it_asked_for(any_db: Database) -> None:
    """Neither by its length nor by what is in it: pages go on."""
    login = f'odd "\n\x1b/ {uuid4().hex}' + "x" * 10
    name = sql.Identifier(login)
    any_db.run(sql.SQL("CREATE ROLE {} LOGIN IN ROLE bpc_operator").format(name).as_string())
    try:
        with psycopg.connect(any_db.url, user=login, autocommit=True) as connection:
            asked = (
                connection.execute(
                    "SELECT bpc_ask_bulk('retry', NULL, NULL, 'NO_SUCH_TYPE', NULL, NULL, NULL, now(), 0)"
                ).fetchone()
                or ()
            )
        with web(any_db, "bpc_operator") as connection:
            taken = connection.execute("SELECT * FROM bpc_take_bulk('test', 60)").fetchone() or {}
            connection.execute(
                "SELECT * FROM bpc_bulk_page(%s, %s, 10, 60)", [taken["bulk_act_id"], taken["lease_token"]]
            )
            who = connection.execute("SELECT bpc_who() AS who").fetchone() or {}
            connection.commit()
        assert taken["bulk_act_id"] == asked[0]
        assert str(who["who"]).startswith('bpc_web_login/login:"odd ""??/ ')
    finally:
        any_db.run(sql.SQL("DROP ROLE {}").format(name).as_string())


def test_an_event_names_whom_the_transaction_acts_for(any_db: Database) -> None:
    """A server that has said so cannot leave him out, nor take somebody else."""
    tenant_id = any_db.tenant(f"events {uuid4()}")
    with web(any_db, "bpc_app", tenant_id, "jane") as connection:
        for actor in ("login:bpc_web_login", "login:bpc_web_login/joe", "login:jane"):
            event = next_event(connection, tenant_id, uuid4(), actor, {})
            said = "not login:bpc_web_login/jane"
            with pytest.raises(errors.InsufficientPrivilege, match=said), connection.transaction():
                append(connection, event)
        append(connection, next_event(connection, tenant_id, uuid4(), "login:bpc_web_login/jane", {}))
        connection.commit()


def test_a_statement_that_was_prepared_as_one_role_sees_what_the_next_may(any_db: Database) -> None:
    """Connections are kept, and so are their plans: rows are those of the role of now."""
    ours, theirs = domain(any_db, f"a-{uuid4()}").tenant_id, domain(any_db, f"b-{uuid4()}").tenant_id
    with psycopg.connect(any_db.url_as("bpc_web"), autocommit=True) as connection:
        connection.execute("PREPARE seen AS SELECT DISTINCT tenant_id::text FROM passports")
        for _ in range(7):  # from the sixth time on a plan is kept
            for role, tenant_id, expected in (
                ("bpc_reader", "", {ours, theirs}), ("bpc_app", ours, {ours}), ("bpc_app", "", set()),
                ("bpc_reader", theirs, {theirs}),
            ):  # fmt: skip
                with connection.transaction():
                    connection.execute(f"SET LOCAL ROLE {role}".encode())
                    connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [tenant_id])
                    found = {str(row[0]) for row in connection.execute("EXECUTE seen").fetchall()}
                    assert found & {ours, theirs} == expected
                    assert found == expected or (role, tenant_id) == ("bpc_reader", "")
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute("EXECUTE seen")
