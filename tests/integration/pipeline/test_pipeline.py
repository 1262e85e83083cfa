"""The pipeline's API on a real PostgreSQL, as the application's role: several at a time, one tenant each."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.core.base.signing import Ed25519Signer, KeyStatus, Purpose
from bpc_worker.domain.records import RulesVersion
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.documents import (
    Upload,
    add_document,
    document_detail,
    document_facts,
    list_documents,
)
from bpc_worker.pipeline.jobs import job_state, wait_for_job
from bpc_worker.pipeline.keys import add_key, change_key, list_keys
from bpc_worker.pipeline.products import ProductData, add_product
from bpc_worker.pipeline.rules import add_rules, list_rules, publish_rules
from bpc_worker.pipeline.session import PipelineSession, open_pipeline
from bpc_worker.pipeline.snapshots import create_snapshot, list_snapshots, seal_snapshot, snapshot_detail
from bpc_worker.postgres.sql_files import query
from tests.support.database import Database
from tests.support.domain import KEY_ID, domain, run_of_tests, sign

if TYPE_CHECKING:
    from bpc_worker.postgres.queue.job_states import JobState

T = TypeVar("T")

PUBLIC = Ed25519Signer("", bytes(range(32))).public_key


def text(number: int) -> str:
    return f"field a: Int = {number}; example e: {{}} => expect(a, == {number});"


async def execute_pipelined(
    db: Database,
    count: int,
    work: Callable[[PipelineSession, int], Awaitable[T]],
    tenant: str = "acme",
    **env: str,
) -> list[T]:
    """As many sessions at the same moment, each on a connection of its own."""
    settings, handlers, url = config.load(env=env), registry.load(), db.url_as("bpc_app")
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_pipeline(settings, handlers, url, tenant))
            for _ in range(count)
        ]
        return await asyncio.gather(*(work(pipeline, at) for at, pipeline in enumerate(opened)))


async def alone(
    db: Database, work: Callable[[PipelineSession], Awaitable[T]], tenant: str = "acme", **env: str
) -> T:
    [done] = await execute_pipelined(db, 1, lambda pipeline, _: work(pipeline), tenant, **env)
    return done


def events(db: Database) -> list[str]:
    return [str(row["event_type"]) for row in db.run("SELECT event_type FROM events ORDER BY occurred_at")]


def a_document(
    db: Database, ref: str = "bom.csv", *, facts: str = '{"kg": "1"}', tenant: str = "acme"
) -> str:
    """A validated version with one fact, without a worker; its id."""
    ids = {"tenant": db.tenant(tenant), "ref": ref}
    row = db.one(
        "WITH d AS (INSERT INTO documents (tenant_id, kind, external_ref) VALUES (%(tenant)s, 'BOM', %(ref)s)"
        "   RETURNING tenant_id, document_id),"
        " b AS (INSERT INTO blobs (tenant_id, sha256, size, content)"
        "   SELECT %(tenant)s, sha256(x), octet_length(x), x FROM convert_to(%(ref)s, 'UTF8') AS x"
        "   RETURNING sha256),"
        " v AS (INSERT INTO document_versions (tenant_id, document_id, sha256, kind, mime_type)"
        "   SELECT tenant_id, document_id, sha256, 'BOM', 'text/csv' FROM d, b"
        "   RETURNING tenant_id, document_version_id)"
        " SELECT document_version_id FROM v",
        ids,
    )
    version = {"document_version_id": row["document_version_id"], "pointers": ["2:1"], "items": [None]}
    db.run(
        "UPDATE document_versions SET status = 'VALIDATED'"
        " WHERE document_version_id = %(document_version_id)s",
        version,
    )
    columns: dict[str, object] = {
        "tenant_id": ids["tenant"],
        "fact_types": ["Component"],
        "fact_keys": ["component:a"],
        "schema_versions": [1],
        "canonicals": [facts.encode()],
    }
    for name in ("facts/add", "facts/add_sources"):
        db.run(query(name).decode(), columns | version)
    return str(row["document_version_id"])


async def test_versions_of_rules_added_at_the_same_moment_are_numbered_one_after_the_other(
    db: Database,
) -> None:
    db.tenant()
    added = await execute_pipelined(db, 8, lambda pipeline, at: add_rules(pipeline, "mine", text(at)))

    assert sorted(version.version for version in added) == [*range(1, 9)]
    assert {version.status for version in added} == {"DRAFT"}


async def test_the_same_text_added_at_the_same_moment_is_one_version(db: Database) -> None:
    db.tenant()
    added = await execute_pipelined(db, 6, lambda pipeline, _: add_rules(pipeline, "mine", text(1)))

    assert len({version.rule_package_version_id for version in added}) == 1


async def test_rules_that_do_not_load_and_names_that_are_none_are_refused(db: Database) -> None:
    db.tenant()
    for name, source, said in (("mine", "field a: Int = x;", "line 1"), ("a@1", text(1), "'a@1'")):
        with pytest.raises(Permanent, match=said):
            await alone(db, partial(add_rules, name=name, source=source))

    assert await alone(db, list_rules) == []


async def test_rules_are_published_once_and_only_after_their_tests(db: Database) -> None:
    db.tenant()
    draft = await alone(db, lambda pipeline: add_rules(pipeline, "mine", text(1)))
    with pytest.raises(Permanent, match=r"mine@1 is DRAFT, not VALIDATED; .*rules run-tests mine@1"):
        await alone(db, lambda pipeline: publish_rules(pipeline, "mine"))
    run_of_tests(db, draft.rule_package_version_id)
    db.run("UPDATE rule_package_versions SET status = 'VALIDATED'")

    def publish(pipeline: PipelineSession, _: int) -> Awaitable[RulesVersion]:
        return publish_rules(pipeline, str(draft.rule_package_version_id))

    published = await execute_pipelined(db, 5, publish)

    assert {version.status for version in published} == {"PUBLISHED"}
    assert events(db) == ["RULES_PUBLISHED"]


async def test_a_key_is_added_retired_and_revoked_once_each(db: Database) -> None:
    db.tenant()
    added = await execute_pipelined(db, 4, lambda pipeline, _: add_key(pipeline, "k", PUBLIC))
    retired = await execute_pipelined(db, 4, lambda pipeline, _: change_key(pipeline, "k", KeyStatus.RETIRED))
    revoked = await execute_pipelined(db, 4, lambda pipeline, _: change_key(pipeline, "k", KeyStatus.REVOKED))

    assert sorted(added) == sorted(retired) == sorted(revoked) == [False, False, False, True]
    assert events(db) == ["KEY_ADDED", "KEY_RETIRED", "KEY_REVOKED"]
    with pytest.raises(Permanent, match="is revoked, and stays so"):
        await alone(db, lambda pipeline: change_key(pipeline, "k", KeyStatus.RETIRED))


async def test_a_key_that_is_still_needed_is_not_retired_and_it_is_said_why(db: Database) -> None:
    made = domain(db, signed=False)
    retire = partial(change_key, key_id=KEY_ID, status=KeyStatus.RETIRED)
    with pytest.raises(Permanent, match="not signed yet; wait until a worker"):
        await alone(db, retire, str(made.tenant_id))
    sign(db, made.passport_version_id)

    assert await alone(db, retire, str(made.tenant_id)) is True


@pytest.mark.parametrize(
    ("key_id", "key", "said"),
    [
        ("k", Ed25519Signer("", bytes(32)).public_key, "stands for another key"),
        ("other", bytes(32), "small order"),
        ("other", PUBLIC, "this key is there already, as 'k', and ACTIVE: a key has one id"),
        ("", PUBLIC, "1 to 200 printable"),
        (" a", PUBLIC, "no blanks"),
        ("a" * 201, PUBLIC, "1 to 200"),
    ],
)
async def test_a_key_that_should_not_be_trusted_is_refused(
    db: Database, key_id: str, key: bytes, said: str
) -> None:
    db.tenant()
    await alone(db, lambda pipeline: add_key(pipeline, "k", PUBLIC))
    with pytest.raises(Permanent, match=said):
        await alone(db, lambda pipeline: add_key(pipeline, key_id, key))

    assert [key.key_id for key in await alone(db, list_keys)] == ["k"]


@pytest.mark.parametrize(
    ("purposes", "said"),
    [
        ({Purpose.STATUS}, "is there already, for checkpoint, passport: a key keeps its purposes"),
        ({Purpose.PASSPORT}, "is there already, for checkpoint, passport: a key keeps its purposes"),
        ({Purpose.STATUS, Purpose.PASSPORT}, "a key for status lists has no other purpose"),
        (set(), "at least one purpose"),
    ],
)
async def test_a_key_keeps_its_purposes(db: Database, purposes: set[Purpose], said: str) -> None:
    db.tenant()
    await alone(db, lambda pipeline: add_key(pipeline, "k", PUBLIC))
    with pytest.raises(Permanent, match=said):
        await alone(db, lambda pipeline: add_key(pipeline, "k", PUBLIC, frozenset(purposes)))

    [key] = await alone(db, list_keys)
    assert key.purposes == {Purpose.PASSPORT, Purpose.CHECKPOINT}


@pytest.mark.parametrize("status", [KeyStatus.RETIRED, KeyStatus.REVOKED])
@pytest.mark.parametrize("key_id", ["k", "another name"])
async def test_a_key_that_is_past_does_not_come_back(db: Database, status: KeyStatus, key_id: str) -> None:
    db.tenant()
    await alone(db, lambda pipeline: add_key(pipeline, "k", PUBLIC))
    await alone(db, lambda pipeline: change_key(pipeline, "k", status))
    said = f"key 'k' is {status}, and stays so" if key_id == "k" else f"there already, as 'k', and {status}"
    with pytest.raises(Permanent, match=said):
        await alone(db, lambda pipeline: add_key(pipeline, key_id, PUBLIC))

    assert [(key.key_id, key.status) for key in await alone(db, list_keys)] == [("k", status)]
    assert events(db) == ["KEY_ADDED", f"KEY_{status}"]


async def test_production_does_not_register_the_development_key(db: Database) -> None:
    from bpc_worker.keys.keyring import development_signer

    db.tenant()
    env = {"BPC_ENV": "prod", "BPC_DATABASE_URL": db.url}
    with pytest.raises(Permanent, match="known to everybody"):
        await alone(db, lambda pipeline: add_key(pipeline, "k", development_signer().public_key), **env)


async def test_a_product_keeps_its_first_name(db: Database) -> None:
    db.tenant()
    x, y = (ProductData(identifier="urn:x", name=name) for name in "XY")
    first, added = await alone(db, lambda pipeline: add_product(pipeline, x))
    again, added_again = await alone(db, lambda pipeline: add_product(pipeline, y))

    assert (added, added_again) == (True, False)
    assert again == first


async def test_a_document_is_found_by_each_of_its_names(db: Database) -> None:
    version = a_document(db)
    found = await alone(db, lambda pipeline: document_detail(pipeline, "bom.csv"))

    assert str(found.document_version_id) == version
    assert (found.status, found.facts, found.errors, found.snapshots) == ("VALIDATED", 1, [], [])
    for name in (version, str(found.document_id), found.sha256.hex()):
        assert await alone(db, partial(document_detail, wanted=name)) == found
    [fact] = await alone(db, lambda pipeline: document_facts(pipeline, version))
    assert (fact.pointer, fact.canonical) == ("2:1", b'{"kg": "1"}')


async def test_another_tenant_finds_nothing(db: Database) -> None:
    version = a_document(db)
    db.tenant("volt")
    made = await alone(db, lambda pipeline: create_snapshot(pipeline, [version]))

    for ask in (
        lambda pipeline: document_detail(pipeline, version),
        lambda pipeline: document_facts(pipeline, "bom.csv"),
        lambda pipeline: create_snapshot(pipeline, [version]),
        lambda pipeline: snapshot_detail(pipeline, made.snapshot_id),
        lambda pipeline: seal_snapshot(pipeline, made.snapshot_id),
    ):
        with pytest.raises(Permanent) as caught:
            await alone(db, ask, "volt")
        assert caught.value.code == "NOT_FOUND"
    assert await alone(db, list_documents, "volt") == []
    assert await alone(db, list_snapshots, "volt") == []


async def test_another_tenants_job_is_not_found(db: Database) -> None:
    db.tenant("acme")
    db.tenant("volt")
    upload = Upload(content=b"x", kind="OTHER", mime_type="text/csv", external_ref="x")
    job_id = await alone(db, lambda pipeline: add_document(pipeline, upload))

    assert (await alone(db, lambda pipeline: job_state(pipeline, job_id))).attempts == 0
    with pytest.raises(Permanent, match="no such job"):
        await alone(db, lambda pipeline: job_state(pipeline, job_id), "volt")


async def test_a_document_above_the_limit_is_refused_before_it_is_sent(db: Database) -> None:
    db.tenant()
    upload = Upload(content=b"xx", kind="OTHER", mime_type="text/csv", external_ref="x")
    with pytest.raises(Permanent) as caught:
        await alone(db, lambda pipeline: add_document(pipeline, upload), BPC_LIMITS_DOCUMENT_BYTES="1")

    assert caught.value.code == "PAYLOAD_TOO_LARGE"
    assert db.run("SELECT job_id FROM jobs") == []


async def test_a_snapshot_has_each_fact_once_and_knows_its_documents(db: Database) -> None:
    first, second = a_document(db), a_document(db, "copy.csv")
    made = await alone(db, lambda pipeline: create_snapshot(pipeline, [first, second, "bom.csv"]))
    found = await alone(db, lambda pipeline: snapshot_detail(pipeline, made.snapshot_id))

    assert (made.status, made.facts) == ("BUILDING", 1)
    assert [each.external_ref for each in found.documents] == ["bom.csv", "copy.csv"]
    used = await alone(db, lambda pipeline: document_detail(pipeline, first))
    assert [each.snapshot_id for each in used.snapshots] == [made.snapshot_id]


async def test_documents_that_contradict_each_other_or_are_not_validated_make_no_snapshot(
    db: Database,
) -> None:
    a_document(db)
    a_document(db, "other.csv", facts='{"kg": "2"}')
    db.run(
        "WITH b AS (INSERT INTO blobs (tenant_id, sha256, size, content)"
        "   SELECT tenant_id, sha256('new'), 3, 'new' FROM tenants RETURNING sha256)"
        " INSERT INTO document_versions (tenant_id, document_id, sha256, kind, mime_type)"
        " SELECT tenant_id, document_id, b.sha256, kind, 'text/csv' FROM documents, b"
        " WHERE external_ref = 'other.csv'"
    )
    for documents, said in (
        (["bom.csv", "other.csv"], "other.csv is UPLOADED"),
        (["bom.csv", _sha(db, "other.csv")], "component:a in bom.csv, other.csv"),
        (["bom.csv", "none.csv"], "no document 'none.csv'"),
    ):
        with pytest.raises(Permanent, match=said):
            await alone(db, partial(create_snapshot, documents=documents))

    assert await alone(db, list_snapshots) == []


def _sha(db: Database, ref: str) -> str:
    row = db.one("SELECT encode(sha256(convert_to(%s, 'UTF8')), 'hex') AS sha", [ref])
    return str(row["sha"])


async def test_waiting_ends_in_time_when_nobody_works(db: Database) -> None:
    db.tenant()
    looks: list[JobState] = []
    upload = Upload(content=b"x", kind="OTHER", mime_type="text/csv", external_ref="x")

    async def wait(pipeline: PipelineSession) -> None:
        job_id = await add_document(pipeline, upload)
        state = await wait_for_job(pipeline, job_id, seconds=0.5, looked=looks.append)
        assert (state.ended, state.due, state.attempts) == (False, True, 0)

    await alone(db, wait)
    assert len(looks) >= 2
