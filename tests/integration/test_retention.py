"""Of all that is old, exactly what nothing rests on goes, by functions of the owner and by nobody else."""

from uuid import UUID

import psycopg
import pytest

from tests.support.database import Database
from tests.support.domain import domain
from tests.support.retention import OLD, YOUNG, Attic

DAYS = {
    "builds": 30, "unsigned": 30, "snapshots": 30, "documents": 30, "blobs": 30, "deliveries": 30,
    "passports": 3650,
}  # fmt: skip
ROLES = ("bpc_worker", "bpc_app", "bpc_operator", "bpc_reader", "bpc_producer")
DELETABLE = (
    "blobs", "document_versions", "facts", "fact_sources", "data_snapshots", "snapshot_items",
    "passport_builds", "passport_build_documents", "passport_versions", "events", "signing_keys", "documents",
    "webhook_deliveries",
)  # fmt: skip


@pytest.fixture
def attic(db: Database) -> Attic:
    """Everything that a passport needs, and all of it old."""
    made = Attic(db, domain(db))
    for table, key, found in (
        ("document_versions", "document_version_id", made.domain.document_version_id),
        ("data_snapshots", "snapshot_id", made.domain.snapshot_id),
        ("passport_builds", "build_id", made.domain.build_id),
        ("passport_versions", "passport_version_id", made.domain.passport_version_id),
    ):
        made.age(table, key, found, OLD)
    db.run("UPDATE passport_builds SET state = 'DONE'")
    return made


def sweep(
    attic: Attic, step: str, *, days: int | None = None, page: int = 1000, role: str = "bpc_worker"
) -> dict[str, int]:
    """All pages of one step; how much of what went."""
    removed: dict[str, int] = {}
    after = UUID(int=0)
    with attic.db.connect(role) as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [attic.domain.tenant_id])
        while True:
            [done] = connection.execute(
                "SELECT * FROM bpc_sweep(%s, %s, %s, %s)", [step, days or DAYS[step], after, page]
            ).fetchall()
            assert isinstance(done["removed"], dict)
            for what, count in done["removed"].items():
                removed[what] = removed.get(what, 0) + count
            if done["at_the_end"]:
                return removed
            assert isinstance(done["last_id"], UUID)
            assert done["last_id"] > after, "it goes on"
            after = done["last_id"]


def gone(attic: Attic, step: str, **options: int) -> set[UUID]:
    before = attic.ids()
    sweep(attic, step, **options)  # type: ignore[arg-type]  # numbers only
    return before - attic.ids()


def test_documents_that_nothing_was_made_from_go_with_their_facts(attic: Attic) -> None:
    own, shared, kept, in_snapshot = (attic.fact() for _ in range(4))
    attic.document(YOUNG, facts=(shared, kept))
    attic.snapshot(OLD, "SEALED", (in_snapshot,))
    old = {
        attic.document(OLD, facts=(own, shared)),
        attic.document(31, "REJECTED"),
        attic.document(OLD, "VALIDATED"),
    }
    attic.document(OLD, facts=(in_snapshot, attic.fact()))
    attic.document(OLD, "UPLOADED")
    attic.document(YOUNG, "REJECTED")
    attic.wanted(attic.build(YOUNG), attic.document(OLD))

    assert gone(attic, "documents") == old | {own}
    assert sweep(attic, "documents") == {"documents": 0, "facts": 0}


@pytest.mark.parametrize("page", [1, 2, 1000])
def test_bytes_that_nobody_names_any_more_go(attic: Attic, page: int) -> None:
    old = {attic.blob(31, b"one"), attic.blob(OLD, b"two"), attic.blob(OLD, b"three")}
    attic.blob(YOUNG, b"young")
    for status in ("QUEUED", "RUNNING", "DEAD_LETTER"):
        lease = {"lease_owner": "x", "lease_expires_at": "now"} if status == "RUNNING" else {}
        digest = attic.blob(OLD, status.encode()).hex()
        payload = f'{{"content_sha256": "{digest}"}}'
        attic.db.enqueue("INGEST_DOCUMENT", payload, status=status, attempts=1, **lease)
    done = attic.blob(OLD, b"done")
    attic.db.enqueue("INGEST_DOCUMENT", f'{{"content_sha256": "{done.hex()}"}}', status="SUCCEEDED")
    document = attic.document(OLD)
    attic.document(YOUNG)

    def bytes_there() -> set[object]:
        return {row["sha256"] for row in attic.db.run("SELECT sha256 FROM blobs")}

    before = bytes_there()
    assert sweep(attic, "blobs", page=page) == {"blobs": 4}
    assert before - bytes_there() == old | {done}
    assert gone(attic, "documents") == {document}
    assert sweep(attic, "blobs", page=page) == {"blobs": 1}, "those of the document that has gone"


def test_bytes_that_are_brought_again_stay(attic: Attic) -> None:
    attic.blob(OLD, b"again")
    with attic.db.connect("bpc_app") as bringing, bringing.transaction():
        bringing.execute("SELECT set_config('bpc.tenant_id', %s, true)", [attic.domain.tenant_id])
        bringing.execute("SELECT bpc_put_blob('again')")
        assert sweep(attic, "blobs") == {"blobs": 0}, "whoever brings them has not committed yet"
    assert sweep(attic, "blobs") == {"blobs": 0}


@pytest.mark.parametrize("page", [1, 2, 3])
def test_pages_are_as_good_as_a_whole(attic: Attic, page: int) -> None:
    old = {attic.document(OLD) for _ in range(5)} | {attic.document(OLD, "REJECTED")}
    for _ in range(3):
        attic.document(YOUNG)

    assert gone(attic, "documents", page=page) == old


def test_builds_that_came_to_nothing_go_and_then_their_snapshots_and_documents(attic: Attic) -> None:
    facts = (attic.fact(),)
    document = attic.document(OLD, facts=facts)
    snapshot = attic.snapshot(OLD, "READY", facts)
    build = attic.build(OLD, snapshot_id=snapshot)
    attic.wanted(build, document)
    waits = attic.build(OLD, "DOCUMENTS")
    attic.db.enqueue("INGEST_DOCUMENT", correlation_id=str(waits))
    attic.build(YOUNG)
    attic.build(OLD, "DONE")

    assert gone(attic, "snapshots") == gone(attic, "documents") == set()
    assert gone(attic, "builds") == {build}
    assert gone(attic, "snapshots") == {snapshot}
    assert gone(attic, "documents") == {document, *facts}


def test_snapshots_that_were_never_sealed_go(attic: Attic) -> None:
    facts = (attic.fact(),)
    old = {attic.snapshot(OLD, "BUILDING", facts), attic.snapshot(OLD, "READY")}
    attic.snapshot(OLD, "SEALED", facts)
    attic.snapshot(YOUNG, "BUILDING")
    attic.build(YOUNG, snapshot_id=attic.snapshot(OLD, "READY"))

    assert gone(attic, "snapshots") == old


def test_versions_that_were_never_signed_go_unless_somebody_waits_for_them(attic: Attic) -> None:
    old = {attic.version(OLD, "COMPILING")}
    attic.version(YOUNG, "COMPILING")
    attic.db.enqueue("SIGN_PASSPORT", idempotency_key=str(attic.version(OLD, "COMPILING")))
    attic.build(YOUNG, passport_version_id=attic.version(OLD, "COMPILING"))
    for status in ("SIGNED", "SUPERSEDED", "REVOKED"):
        attic.version(OLD, status)

    assert gone(attic, "unsigned") == old


def test_deliveries_go_when_they_have_ended(attic: Attic) -> None:
    old = {attic.delivery(OLD, "DELIVERED"), attic.delivery(OLD, "FAILED")}
    attic.delivery(OLD, "PENDING")
    attic.delivery(YOUNG, "DELIVERED")
    attic.delivery(YOUNG, "FAILED")

    assert gone(attic, "deliveries") == old


def test_passports_go_when_they_are_long_past_and_never_while_in_force(attic: Attic) -> None:
    superseded, revoked = attic.version(OLD, "SUPERSEDED"), attic.version(OLD, "REVOKED")
    build = attic.build(OLD, "DONE", passport_version_id=superseded)
    for status in ("COMPILING", "SIGNED", "ACTIVE"):
        attic.version(OLD, status)
    attic.version(3000, "SUPERSEDED")
    lately = attic.version(3000, "REVOKED")  # compiled long ago, and something happened to it since
    attic.age("passport_versions", "passport_version_id", lately, OLD)

    assert gone(attic, "passports") == {superseded, revoked, build}


def test_another_tenants_rows_stay(attic: Attic) -> None:
    other = Attic(attic.db, domain(attic.db, "volt"))
    other.document(OLD)
    other.snapshot(OLD)
    other.build(OLD)
    before = attic.ids()
    for step in DAYS:
        sweep(attic, step)

    assert attic.ids() == before
    assert sweep(other, "documents")["documents"] == 1


@pytest.mark.parametrize("step", DAYS)
def test_less_than_the_floor_is_refused(attic: Attic, step: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="days at least"):
        sweep(attic, step, days=DAYS[step] - 1)


@pytest.mark.parametrize("step", DAYS)
@pytest.mark.parametrize("role", [role for role in ROLES if role != "bpc_worker"])
def test_only_workers_sweep(attic: Attic, step: str, role: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sweep(attic, step, role=role)


def test_no_role_can_delete_by_itself(attic: Attic) -> None:
    for role in ROLES:
        with attic.db.connect(role) as connection:
            connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [attic.domain.tenant_id])
            connection.execute("SET bpc.retention = 'on'")  # anybody can; it opens nothing
            for table in DELETABLE:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"DELETE FROM {table}".encode())


@pytest.mark.parametrize("pretending", ["", "on"])
@pytest.mark.parametrize("status", ["SIGNED", "ACTIVE"])
def test_not_even_the_owner_deletes_a_passport_in_force(attic: Attic, pretending: str, status: str) -> None:
    version = attic.version(OLD, status)
    with attic.db.connect() as connection:
        connection.execute("SELECT set_config('bpc.retention', %s, false)", [pretending])
        with pytest.raises(psycopg.errors.RestrictViolation, match="is refused"):
            connection.execute("DELETE FROM passport_versions WHERE passport_version_id = %s", [version])
        with pytest.raises(psycopg.errors.RestrictViolation, match="is refused"):
            connection.execute("DELETE FROM snapshot_items")  # of a sealed snapshot


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO facts SELECT * FROM facts ON CONFLICT DO NOTHING",
        "UPDATE document_versions SET status = status",
        "INSERT INTO data_snapshots (tenant_id) SELECT tenant_id FROM tenants",
    ],
    ids=["facts are found", "a document is judged", "a snapshot is begun"],
)
def test_documents_do_not_go_while_somebody_builds_on_them(attic: Attic, statement: str) -> None:
    """Else a fact that was there a moment ago would be missing without a word."""
    attic.document(OLD)
    with psycopg.connect(attic.db.url) as working:
        working.execute(statement.encode())
        with attic.db.connect("bpc_worker") as connection:
            connection.execute("SET lock_timeout = '100ms'")
            connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [attic.domain.tenant_id])
            with pytest.raises(psycopg.errors.LockNotAvailable):
                connection.execute("SELECT FROM bpc_sweep('documents', 30, %s, 1000)", [UUID(int=0)])
        working.rollback()

    assert sweep(attic, "documents")["documents"] == 1


def test_a_page_is_bounded_by_its_facts_and_a_document_goes_as_a_whole(attic: Attic) -> None:
    """Two of three documents with 9,000 facts each go with the first page."""
    with attic.db.connect() as connection:
        documents = [attic.document(OLD) for _ in range(3)]
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "WITH made AS (INSERT INTO facts"
            " (tenant_id, fact_type, fact_key, schema_version, payload, canonical, payload_hash)"
            " SELECT %(tenant)s, 'C', d || ' ' || n, 1, '{}', '{}', sha256('{}')"
            " FROM unnest(%(documents)s::uuid[]) AS d, generate_series(1, 9000) AS n"
            " RETURNING fact_id, fact_key)"
            " INSERT INTO fact_sources (tenant_id, fact_id, document_version_id, pointer)"
            " SELECT %(tenant)s, fact_id, split_part(fact_key, ' ', 1)::uuid, '1:1' FROM made",
            {"tenant": attic.domain.tenant_id, "documents": documents},
        )
    with attic.db.connect("bpc_worker") as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [attic.domain.tenant_id])
        pages = []
        after = UUID(int=0)
        while True:
            [done] = connection.execute(
                "SELECT * FROM bpc_sweep('documents', 30, %s, 1000)", [after]
            ).fetchall()
            pages.append(done["removed"])
            if done["at_the_end"]:
                break
            assert isinstance(done["last_id"], UUID)
            after = done["last_id"]

    assert pages == [{"documents": 2, "facts": 18000}, {"documents": 1, "facts": 9000}]


@pytest.mark.parametrize("step", ["documents", "deliveries"])
def test_a_sweep_leaves_a_trace_whoever_calls_it(attic: Attic, step: str) -> None:
    attic.document(OLD)
    attic.delivery(OLD, "FAILED")
    sweep(attic, step)

    traces = attic.db.run("SELECT data FROM job_events WHERE type = 'retention:swept'")
    [data] = [row["data"] for row in traces]
    assert isinstance(data, dict)
    assert (data["by"], data["tenant_id"], data["step"]) == (
        "bpc_worker_login",
        attic.domain.tenant_id,
        step,
    )
    assert data["removed"][step] == 1


@pytest.mark.parametrize("step", DAYS)
def test_a_page_of_a_sweep_has_a_limit(attic: Attic, step: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="1 to 10000"):
        sweep(attic, step, page=10_001)
