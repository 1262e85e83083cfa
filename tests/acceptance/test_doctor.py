"""Faults planted for real: the doctor names each, what it says to paste mends it, and then it is gone."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.doctor.catalogue import expected
from bpc_worker.postgres import migrate as migrations
from bpc_worker.postgres.embedded.server import Server
from tests.support.database import free_port, postgres
from tests.support.patients import SALTS, SEED, STATUS_SEED, Patient, make_template, patient, secret_file
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import COMMAND

PROD = {
    "BPC_ENV": "prod",
    "BPC_SIGNING_KEY_ID": "2027-01",
    "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64_FILE": secret_file(SEED),
    "BPC_DISCLOSURE_KEY_FILE": secret_file(SALTS),
    "BPC_SIGNING_STATUS_KEY_ID": "status-2027",
    "BPC_SIGNING_STATUS_PRIVATE_KEY_FILE": secret_file(STATUS_SEED),
    "PYTHONPATH": "",  # the handlers of the tests are not installed here
    **({"BPC_WORKER_CHILD_ACCOUNT": "nobody"} if os.geteuid() == 0 else {}),
}


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with postgres({"max_prepared_transactions": "5"}, in_memory=True) as running:
        make_template(running)
        yield running


@pytest.fixture
def ill(clinic: Server, tmp_path: Path) -> Iterator[Patient]:
    """Well so far."""
    with patient(clinic, tmp_path, PROD) as made:
        yield made


def test_a_healthy_installation_is_well(ill: Patient) -> None:
    found = ill.examined()

    assert (found.code, found.findings, found.unseen) == (0, [], [])


# What is done to the database, and what the doctor calls it.
IN_THE_DATABASE = [
    ("ALTER ROLE {login} SUPERUSER", "role.superuser"),
    ("ALTER ROLE {login} BYPASSRLS", "role.bypasses_tenants"),
    ("GRANT bpc_owner TO {login}", "role.owns_the_schema"),
    ("GRANT pg_write_all_data TO {login}", "role.writes_everything"),
    ("ALTER TABLE job_pauses OWNER TO {login}", "role.owns_tables"),
    ("REVOKE bpc_worker FROM {login}", "role.too_weak"),
    (
        "ALTER ROLE bpc_web INHERIT; REVOKE bpc_app FROM bpc_web; GRANT bpc_app TO bpc_web",
        "doors.web_role",
    ),
    ("REVOKE bpc_reader FROM bpc_web", "doors.web_role"),
    ("CREATE ROLE shop_window LOGIN IN ROLE bpc_public, bpc_reader", "doors.public_login"),
    ("UPDATE schema_migrations SET checksum = 'x' WHERE version = '0102_queue'", "schema.checksum"),
    ("DROP INDEX jobs_probe", "schema.missing_index"),
    ("DROP INDEX jobs_idempotency", "schema.missing_unique_index"),
    ("DROP INDEX jobs_probe; CREATE INDEX jobs_probe ON jobs (queue)", "schema.changed_index"),
    ("CREATE UNIQUE INDEX mine ON jobs (queue, type)", "schema.extra_unique_index"),
    ("DROP TRIGGER jobs_guard_edge ON jobs", "schema.missing_trigger"),
    ("ALTER TABLE jobs DISABLE TRIGGER jobs_guard_edge", "schema.changed_trigger_that_fires"),
    (
        "CREATE TRIGGER mine BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('no')",
        "schema.extra_trigger",
    ),
    ("ALTER TABLE jobs DROP COLUMN last_heartbeat_at", "schema.missing_column"),
    ("ALTER TABLE workers ALTER COLUMN pid TYPE bigint", "schema.changed_column"),
    ("ALTER TABLE jobs ALTER COLUMN max_attempts SET DEFAULT 1", "schema.changed_default"),
    ("ALTER TABLE jobs ALTER COLUMN queue DROP DEFAULT", "schema.missing_default"),
    ("ALTER TABLE jobs ALTER COLUMN queue DROP NOT NULL", "schema.missing_not_null"),
    ("ALTER TABLE jobs ALTER COLUMN stage SET NOT NULL", "schema.extra_not_null"),
    ("ALTER TABLE jobs DROP CONSTRAINT jobs_times_are_finite", "schema.missing_check"),
    ("ALTER TABLE jobs ADD CONSTRAINT mine CHECK (attempts < 3)", "schema.extra_check"),
    ("ALTER TABLE jobs DROP CONSTRAINT jobs_tenant_id_fkey", "schema.missing_foreign_key"),
    (
        (
            "ALTER TABLE jobs DROP CONSTRAINT jobs_tenant_id_fkey, ADD CONSTRAINT jobs_tenant_id_fkey"
            " FOREIGN KEY (tenant_id) REFERENCES tenants NOT VALID"
        ),
        "schema.changed_foreign_key",
    ),
    ("DROP VIEW own_jobs", "schema.missing_view"),
    ("ALTER VIEW own_jobs RESET (security_barrier)", "schema.changed_view"),
    ("ALTER VIEW own_jobs OWNER TO {login}", "schema.changed_view_owner"),
    ("GRANT UPDATE (status) ON own_jobs TO bpc_app", "schema.extra_grant"),
    ("DROP POLICY own_tenant ON events", "schema.missing_policy"),
    ("CREATE POLICY everybody ON events USING (true)", "schema.extra_policy"),
    ("ALTER TABLE facts DISABLE ROW LEVEL SECURITY", "schema.changed_row_security"),
    ("REVOKE INSERT ON job_events FROM bpc_worker", "schema.missing_grant"),
    (
        "REVOKE UPDATE ON jobs FROM bpc_worker; REVOKE UPDATE (status) ON jobs FROM bpc_worker",
        "schema.missing_grant",
    ),
    ("GRANT DELETE ON events TO bpc_worker", "schema.extra_grant"),
    ("GRANT CREATE ON SCHEMA public TO PUBLIC", "schema.open"),
    ("GRANT CREATE ON SCHEMA public TO {login}", "schema.open"),
    ("GRANT EXECUTE ON FUNCTION bpc_discard_job TO PUBLIC", "schema.extra_grant"),
    (
        "CREATE OR REPLACE FUNCTION bpc_tenant() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
        "schema.changed_function",
    ),
    ("ALTER FUNCTION bpc_cancel_job SECURITY INVOKER", "schema.changed_function"),
    ("DROP FUNCTION bpc_cancel_job", "schema.missing_function"),
    ("DROP TABLE job_pauses", "schema.missing_table"),
    ("ALTER ROLE {login} SET default_transaction_read_only = on", "settings.default_transaction_read_only"),
    ("ALTER DATABASE {name} SET synchronous_commit = off", "settings.synchronous_commit"),
    (
        "ALTER ROLE {login} IN DATABASE {name} SET default_transaction_isolation = 'serializable'",
        "settings.default_transaction_isolation",
    ),
    ("ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf()", "settings.full_page_writes"),
    ("ALTER ROLE {login} CONNECTION LIMIT 3", "limits.role_connections"),
    ("ALTER DATABASE {name} CONNECTION LIMIT 3", "limits.database_connections"),
    ("SELECT pg_create_physical_replication_slot('{name}', true)", "transactions.slot"),
    ("INSERT INTO jobs (tenant_id, type) SELECT tenant_id, 'NOBODYS_WORK' FROM tenants", "queue.unhandled"),
    (
        (
            "INSERT INTO jobs (tenant_id, type, status, attempts, fail_code)"
            " SELECT tenant_id, 'RUN_COMMAND', 'DEAD_LETTER', 5, 'COMMAND_FAILED' FROM tenants"
        ),
        "queue.dead_letters",
    ),
]


@pytest.mark.parametrize(("plant", "check"), IN_THE_DATABASE)
def test_a_fault_in_the_database_is_named_and_mended_by_what_is_pasted(
    ill: Patient, plant: str, check: str
) -> None:
    if check.startswith("queue."):
        ill.tenant()
        ill.settings |= {"BPC_ENV": "dev"}  # whose keys are not registered is another fault
    for statement in plant.format(login=ill.login, name=ill.name).split("; "):
        ill.run(statement)

    found = ill.examined()
    finding = found.one(check)
    assert (found.code, finding["level"], finding["paste"]) == (1, "wrong", "psql")
    ill.paste("\n".join(each["fix"] for each in found.findings if each["level"] == "wrong"))

    again = ill.examined()
    assert (again.code, again.wrong()) == (0, [])


def test_what_an_operator_should_know_of_the_doors(ill: Patient) -> None:
    """A web server that has more than it needs, and a token that is used and ends: for whoever may see it."""
    ill.run("CREATE ROLE shop LOGIN IN ROLE bpc_web, bpc_app")
    ill.run(f"GRANT bpc_operator TO {ill.login}")
    ill.run(
        "INSERT INTO api_tokens (name, token_hash, scopes, expires_at)"
        " SELECT name, sha256(name::bytea), '{scale}', now() + days * interval '1 day'"
        " FROM (VALUES ('soon', 5), ('late', 50), ('unused', 5)) AS t (name, days)"
    )
    ill.run(
        "UPDATE token_uses SET last_used_at = now()"
        " WHERE token_id IN (SELECT token_id FROM api_tokens WHERE name <> 'unused')"
    )
    found = ill.examined()
    login, ends = found.one("doors.web_login"), found.one("doors.token_ends")

    assert (found.code, found.names()) == (0, {"doors.web_login", "doors.token_ends"})
    assert (login["level"], ends["level"], ends["paste"]) == ("note", "note", "shell")
    assert login["fix"] == 'REVOKE bpc_app FROM "shop";'
    assert ends["what"] == "the token soon is in use and ends in 5 days"
    ill.paste(login["fix"])
    assert ill.examined().names() == {"doors.token_ends"}


def test_a_member_that_does_not_inherit_is_too_weak(ill: Patient) -> None:
    """Since PostgreSQL 16 that is said with the grant, before that with the role."""
    [version] = ill.run("SELECT current_setting('server_version_num')::integer >= 160000 AS new")
    new = f"GRANT bpc_worker TO {ill.login} WITH INHERIT FALSE"
    ill.run(new if version["new"] else f"ALTER ROLE {ill.login} NOINHERIT")

    finding = ill.examined().one("role.too_weak")
    assert "does not inherit" in finding["what"]
    ill.paste(finding["fix"])

    assert ill.examined().findings == []


def test_a_login_with_grants_of_its_own_needs_no_role(ill: Patient) -> None:
    """All that bpc_worker may do, granted one by one; without the last of them it is too weak."""
    grants = [
        thing.make.replace("TO bpc_worker", f"TO {ill.login}")
        for thing in expected()
        if thing.kind == "grant" and thing.make is not None and thing.name.endswith(" TO bpc_worker")
    ]
    ill.run(f"REVOKE bpc_worker FROM {ill.login}")
    last = f"GRANT INSERT ON TABLE public.job_events TO {ill.login}"
    grants.remove(last)
    ill.paste(";\n".join([*grants, ""]))
    finding = ill.examined().one("role.too_weak")
    assert "and lacks: INSERT ON public.job_events" in finding["what"]

    ill.paste(f"{last};")
    assert ill.examined().findings == []


def test_a_server_with_too_few_connections(tmp_path: Path) -> None:
    with postgres({"max_connections": "10"}, in_memory=True) as small:
        make_template(small)
        with patient(small, tmp_path, PROD) as crowded:
            finding = crowded.examined().one("limits.max_connections")
            crowded.paste(finding["fix"])
            small.stop()
            small.start()  # as it says

            assert crowded.examined().findings == []


def test_a_function_that_took_policies_along_is_mended_piece_by_piece(ill: Patient) -> None:
    """Several findings, pasted in the order in which they are told."""
    ill.run("DROP FUNCTION bpc_tenant CASCADE")

    found = ill.examined()
    assert {"schema.missing_function", "schema.missing_policy"} <= found.names()
    ill.paste("\n".join(each["fix"] for each in found.findings if each["paste"] == "psql"))

    assert ill.examined().findings == []


def test_an_index_whose_making_was_broken_off_is_made_again(ill: Patient) -> None:
    ill.run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'jobs_probe'::regclass")

    finding = ill.examined().one("schema.changed_index")
    assert "its making was broken off" in finding["what"]
    ill.paste(finding["fix"])

    assert ill.examined().findings == []


def test_a_forgotten_transaction_is_named_with_its_holder_and_ended(ill: Patient) -> None:
    with psycopg.connect(ill.superuser_url, application_name="somebody's psql") as forgotten:
        forgotten.execute("SELECT count(*) FROM jobs")

        finding = ill.examined("--stale-after", "0").one("transactions.old")
        assert "somebody's psql" in finding["what"]
        ill.paste(finding["fix"])

        assert "transactions.old" not in ill.examined("--stale-after", "0").names()
        with pytest.raises(psycopg.OperationalError):
            forgotten.execute("SELECT 1")


def test_a_forgotten_prepared_transaction_is_rolled_back(ill: Patient) -> None:
    ill.run("BEGIN; CREATE TABLE half (); PREPARE TRANSACTION 'it''s half done'")

    finding = ill.examined("--stale-after", "0").one("transactions.prepared")
    ill.paste(finding["fix"], into="postgres")

    assert ill.examined("--stale-after", "0").findings == []


def test_without_the_right_to_look_that_is_said(ill: Patient) -> None:
    ill.run(f"REVOKE pg_monitor FROM {ill.login}")

    found = ill.examined()
    assert (found.code, found.names()) == (0, {"transactions.hidden", "disk.hidden"})
    for each in found.findings:
        ill.paste(each["fix"])

    assert ill.examined().findings == []


def test_a_database_without_a_schema(clinic: Server, tmp_path: Path) -> None:
    with patient(clinic, tmp_path, PROD, template="template1") as bare:
        bare.settings["BPC_MIGRATE_DATABASE_URL"] = bare.superuser_url
        finding = bare.examined().one("schema.none")

        assert bare.examined_after(finding["fix"]).findings == []


def test_a_schema_that_is_older_than_the_release(
    clinic: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_them = migrations.known()
    with patient(clinic, tmp_path, PROD, template="template1") as old:
        with monkeypatch.context() as patched:
            patched.setattr(migrations, "known", lambda: all_of_them[:-1])
            migrations.migrate(old.superuser_url)
        old.settings["BPC_MIGRATE_DATABASE_URL"] = old.superuser_url

        finding = old.examined().one("schema.old")
        assert all_of_them[-1].version in finding["what"]
        assert old.examined_after(finding["fix"]).findings == []


def test_a_schema_of_an_earlier_baseline(ill: Patient) -> None:
    ill.run("INSERT INTO schema_migrations VALUES ('0001_roles', 'x', true)")

    found = ill.examined()
    assert (found.names(), found.code) == ({"schema.baseline"}, 1)
    assert "bpc-worker migrate" in found.one("schema.baseline")["why"]


def test_a_file_of_functions_that_the_database_never_had(ill: Patient) -> None:
    ill.run("UPDATE schema_functions SET checksum = 'x' WHERE name = 'sweep'")
    ill.settings["BPC_MIGRATE_DATABASE_URL"] = ill.superuser_url

    finding = ill.examined().one("schema.old")
    assert "functions/sweep" in finding["what"]
    assert ill.examined_after(finding["fix"]).findings == []


@pytest.mark.parametrize(("works", "level", "code"), [("true", "note", 0), ("false", "wrong", 1)])
def test_a_schema_that_is_newer_than_the_release(ill: Patient, works: str, level: str, code: int) -> None:
    ill.run(f"INSERT INTO schema_migrations VALUES ('9999_later', 'x', {works})")
    ill.run("DROP TRIGGER jobs_guard_edge ON jobs")  # as the later release may have wanted

    found = ill.examined()
    assert (found.names(), found.code) == ({"schema.newer"}, code)
    assert found.one("schema.newer")["level"] == level


# How the database is away, and what the doctor calls it; what is pasted goes to the server's own database.
AWAY = [
    ("DROP DATABASE {name}", "database.missing"),
    ("DROP ROLE {login}", "database.no_login"),
    ("ALTER ROLE {login} NOLOGIN", "database.no_login"),
    ("ALTER ROLE {login} CONNECTION LIMIT 0", "database.full"),
    ("ALTER DATABASE {name} ALLOW_CONNECTIONS false", "database.full"),
    ("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC", "database.no_connect"),
]


@pytest.mark.parametrize(("plant", "check"), AWAY)
def test_a_database_that_lets_nobody_in_is_exit_code_69(
    ill: Patient, clinic: Server, plant: str, check: str
) -> None:
    with psycopg.connect(clinic.url("postgres"), autocommit=True) as connection:
        connection.execute(plant.format(login=ill.login, name=ill.name).encode())

    found = ill.examined()
    finding = found.one(check)
    assert found.code == 69
    assert "schema" in found.unseen
    ill.paste(finding["fix"], into="postgres")

    assert ill.examined().code != 69


def test_a_database_that_does_not_answer_is_exit_code_69_without_its_password(ill: Patient) -> None:
    ill.settings["BPC_DATABASE_URL"] = f"postgresql://u:secret@127.0.0.1:{free_port()}/d"

    found = ill.examined()
    assert found.code == 69
    assert "127.0.0.1" in found.one("database.unreachable")["what"]
    assert "secret" not in found.text


def test_a_proxy_in_between_is_told(ill: Patient) -> None:
    port = int(ill.url.rpartition("/")[0].rpartition(":")[2])
    with TcpProxy("127.0.0.1", port) as proxy:
        ill.settings["BPC_DATABASE_URL"] = ill.url.replace(f":{port}/", f":{proxy.port}/")
        found = ill.examined()

    assert (found.code, found.names()) == (0, {"database.between"})


def test_a_direct_url_that_leads_nowhere(ill: Patient) -> None:
    ill.settings["BPC_DATABASE_DIRECT_URL"] = f"postgresql://u:secret@127.0.0.1:{free_port()}/d"

    found = ill.examined()
    finding = found.one("database.direct_url")
    assert "secret" not in found.text
    assert ill.examined_after(finding["fix"]).findings == []


def test_settings_in_the_url_have_the_last_word_and_are_told(ill: Patient) -> None:
    ill.settings["BPC_DATABASE_URL"] = f"{ill.url}?options=-c%20idle_in_transaction_session_timeout%3D0"

    finding = ill.examined().one("settings.idle_in_transaction_session_timeout")
    assert "client" in finding["what"]
    assert "BPC_DATABASE_URL" in finding["fix"]


def without(settings: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in settings.items() if name not in names}


def test_a_worker_without_keys(ill: Patient) -> None:
    ill.settings = without(
        ill.settings,
        "BPC_SIGNING_KEY_ID",
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64_FILE",
        "BPC_DISCLOSURE_KEY_FILE",
        "BPC_SIGNING_STATUS_KEY_ID",
        "BPC_SIGNING_STATUS_PRIVATE_KEY_FILE",
    )
    found = ill.examined()
    assert found.names() == {"keys.missing", "keys.disclosure", "status_lists.key"}

    assert ill.examined_after("\n".join(each["fix"] for each in found.findings)).findings == []


def as_the_owner(ill: Patient) -> None:
    ill.run(f"GRANT bpc_app TO {ill.login}")


def test_a_key_that_a_registry_does_not_know(ill: Patient) -> None:
    as_the_owner(ill)
    ill.tenant("it''s ours")

    finding = ill.examined().one("keys.unregistered")
    assert "it's ours" in finding["what"]
    assert ill.examined_after(finding["fix"]).findings == []


def test_a_tenant_without_a_host(ill: Patient) -> None:
    as_the_owner(ill)
    ill.run("INSERT INTO tenants (name) VALUES ('acme')")
    ill.examined_after("bpc-worker keys add --tenant acme")

    finding = ill.examined().one("hosts.missing")
    assert "the tenant acme has no host" in finding["what"]
    assert ill.examined_after(finding["fix"]).findings == []


def test_a_further_tenant_without_a_key_of_its_own(ill: Patient) -> None:
    as_the_owner(ill)
    ill.tenant("acme")
    ill.tenant("globex")
    ill.examined_after("bpc-worker keys add --tenant acme")

    finding = ill.examined().one("keys.no_own_key")
    assert "tenant 'globex' has no signing key of its own" in finding["what"]


@pytest.mark.parametrize(
    ("key", "status", "check"),
    [("sha256('another')", "ACTIVE", "keys.other_seed"), (None, "RETIRED", "keys.not_active")],
)
def test_a_seed_that_does_not_fit_the_registry(
    ill: Patient, key: str | None, status: str, check: str
) -> None:
    as_the_owner(ill)
    tenant = ill.tenant()
    if key is None:
        ill.examined_after("bpc-worker keys add --tenant acme")
        ill.run("UPDATE signing_keys SET status = 'RETIRED'")
    else:
        ill.run(
            "INSERT INTO signing_keys (tenant_id, key_id, public_key, status)"
            f" VALUES ('{tenant}', '2027-01', {key}, '{status}')"
        )

    finding = ill.examined().one(check)
    assert ill.examined_after(finding["fix"]).findings == []


def test_a_key_that_is_no_point_in_a_registry(ill: Patient) -> None:
    as_the_owner(ill)
    tenant = ill.tenant()
    ill.examined_after("bpc-worker keys add --tenant acme")
    ill.run(
        "INSERT INTO signing_keys (tenant_id, key_id, public_key)"
        f" VALUES ('{tenant}', 'zero', decode('02' || repeat('00', 31), 'hex'))"
    )

    finding = ill.examined().one("keys.unusable")
    assert "'zero' in the registry of acme" in finding["what"]
    assert "no point of the curve" in finding["what"]
    ill.paste(finding["fix"])
    assert ill.examined().findings == []


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 3", "exit code 3"), ("sleep 60", "did not end within 1 s"), ("echo no", "not a signature")],
)
def test_a_signer_that_does_not_sign(ill: Patient, script: str, said: str) -> None:
    ill.settings = without(ill.settings, "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64_FILE") | {
        "BPC_SIGNING_COMMAND": json.dumps({"argv": ["/bin/sh", "-c", script], "timeout_seconds": 1}),
        "BPC_SIGNING_PUBLIC_KEY": Ed25519Signer("", bytes(32)).public_key.hex(),
    }

    assert said in ill.examined().one("keys.signer")["what"]


def test_a_registry_that_trusts_the_development_key_in_production(ill: Patient) -> None:
    as_the_owner(ill)
    ill.tenant()
    ill.settings = {"BPC_ENV": "dev", "PYTHONPATH": ""}
    assert ill.examined_after("bpc-worker keys add --tenant acme").code == 0
    ill.settings = dict(PROD)
    ill.examined_after("bpc-worker keys add --tenant acme")

    finding = ill.examined().one("keys.development")
    assert ill.examined_after(finding["fix"]).findings == []


def test_the_development_key_itself_in_production_is_a_fault_of_the_configuration(ill: Patient) -> None:
    ill.settings["BPC_SIGNING_KEY_ID"] = "development"

    found = ill.examined()
    assert (found.code, found.names()) == (1, {"configuration.invalid"})
    assert "known to everybody" in found.findings[0]["what"]


def test_every_problem_of_the_configuration_is_a_finding(ill: Patient) -> None:
    ill.settings |= {"BPC_HTTP_PORT": "x", "BPC_NONSENSE": "1"}
    found = ill.examined()

    assert (found.code, len(found.findings), found.names()) == (1, 2, {"configuration.invalid"})
    assert ill.examined_after("\n".join(each["fix"] for each in found.findings)).findings == []


def test_plain_tcp_to_another_machine_is_told_with_the_way_out(ill: Patient) -> None:
    ill.settings["BPC_QUEUE_URL"] = "amqp://guest:guest@192.0.2.1/"
    ill.settings["BPC_QUEUE_ENABLED"] = "on"
    found = ill.examined()

    finding = found.one("configuration.plain")
    assert (found.code, len(found.findings)) == (1, 1)
    assert "amqps://" in finding["what"]
    assert "BPC_QUEUE_ALLOW_PLAIN" in finding["fix"]


def test_keys_that_others_can_read_are_notes(ill: Patient, tmp_path: Path) -> None:
    del ill.settings["BPC_DISCLOSURE_KEY_FILE"]
    ill.settings["BPC_DISCLOSURE_KEY"] = SALTS
    seed = Path(secret_file(SEED))
    seed.chmod(0o644)
    ill.settings["BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64_FILE"] = str(seed)
    found = ill.examined()

    assert found.code == 0
    assert found.names() == {"configuration.key_in_environment", "configuration.open_secret"}
    fixes = "\n".join(each["fix"] for each in found.findings)
    assert ill.examined_after(f"cd {tmp_path}\n{fixes}").findings == []


def test_old_names_are_notes_with_the_new_ones(ill: Patient) -> None:
    ill.settings["REAPER_INTERVAL_SEC"] = "20"
    found = ill.examined()

    assert found.code == 0
    finding = found.one("configuration.old_name")
    assert ill.examined_after(finding["fix"]).findings == []


def test_a_further_table_that_cannot_be_reaped(ill: Patient) -> None:
    ill.run("CREATE TABLE asr_jobs (status text)")
    ill.settings["BPC_REAPER_TABLES"] = "asr_jobs,nowhere"

    found = ill.examined()
    assert found.code == 1
    texts = [each["what"] for each in found.findings]
    assert "asr_jobs, which lacks attempts" in texts[0]
    assert "nowhere, which does not exist" in texts[1]
    assert ill.examined_after(found.findings[0]["fix"]).findings == []


def test_in_development_what_only_production_must_not_have_is_a_note(ill: Patient) -> None:
    ill.settings = {"BPC_ENV": "dev", "PYTHONPATH": ""}
    ill.run(f"ALTER ROLE {ill.login} SUPERUSER")
    ill.tenant()

    found = ill.examined()
    assert (found.code, found.names()) == (0, {"role.superuser", "keys.unregistered"})


@pytest.mark.parametrize("role", ["bpc_operator", "bpc_reader", "bpc_producer", "bpc_app"])
def test_a_login_of_somebody_else_is_not_made_a_workers(ill: Patient, role: str) -> None:
    ill.run(f"REVOKE bpc_worker FROM {ill.login}")
    ill.run(f"GRANT {role} TO {ill.login}")

    finding = ill.examined().one("role.not_a_worker")
    assert finding["level"] == "note"
    assert f"the login {ill.login} is a member of {role} and not of bpc_worker" in finding["what"]
    assert "GRANT" not in finding["fix"]


def test_a_type_that_another_running_worker_handles_is_well(ill: Patient) -> None:
    ill.settings |= {"BPC_ENV": "dev"}
    ill.tenant()
    ill.run(
        "INSERT INTO jobs (tenant_id, type, scheduled_at)"
        " SELECT tenant_id, 'ELSEWHERE', now() + interval '1 day' FROM tenants"
    )
    told = ill.examined().one("queue.unhandled")["what"]
    assert told == (
        "1 job of type ELSEWHERE wait, though none is due yet: no handler is installed here,"
        " and no running worker has one"
    )

    ill.run(
        "INSERT INTO workers (worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at,"
        " expires_at) VALUES ('other', 'h', 1, '0.1.0', '{ELSEWHERE}', '{default}', 10, now(), now(),"
        " now() + interval '1 minute')"
    )
    assert "queue.unhandled" not in ill.examined().names()
    ill.run("UPDATE workers SET expires_at = now()")
    assert "queue.unhandled" in ill.examined().names()


def test_people_get_words(ill: Patient) -> None:
    ill.run("DROP INDEX jobs_probe")
    ran = subprocess.run(
        [*COMMAND, "doctor"],
        env=ill.environment(),
        cwd=ill.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert "wrong   schema.missing_index: index jobs_probe is missing\n        why: " in ran.stdout
    assert "\n          CREATE INDEX CONCURRENTLY jobs_probe ON public.jobs" in ran.stdout
    assert "well    role\n" in ran.stdout
    assert "\x1b" not in ran.stdout, "colours are for terminals"
    assert ran.stdout.endswith("\n1 thing is wrong; mend it and run it again\n")


def test_the_doctor_changes_nothing(ill: Patient) -> None:
    """Not even by accident: it reads in a transaction that cannot write."""
    before = ill.run("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
    tables = ill.run("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) AS n FROM pg_stat_user_tables")
    ill.examined()

    assert before
    assert ill.run("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) AS n FROM pg_stat_user_tables") == tables
    assert json.dumps(ill.run("SELECT count(*) AS n FROM job_events")) == '[{"n": 0}]'
