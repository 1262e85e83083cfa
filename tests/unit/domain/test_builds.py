"""The steps of a passport build, as the jobs take them."""

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import msgspec
import pytest

from bpc_worker import registry
from bpc_worker.domain import builds
from bpc_worker.domain.records import Build
from bpc_worker.domain.states import BuildStatus
from bpc_worker.jobs.errors import Permanent
from bpc_worker.testing import FakeTx, an_id

if TYPE_CHECKING:
    from bpc_worker.handler_api import Row

TENANT, BUILD, SNAPSHOT, VERSION = an_id(1), an_id(2), an_id(3), an_id(4)
IDS = {"build_id": BUILD, "tenant_id": TENANT}
ACTOR = f"job:{an_id(8)}"


def a_build(state: str = BuildStatus.DOCUMENTS) -> Build:
    return Build(
        build_id=BUILD,
        tenant_id=TENANT,
        passport_id=an_id(5),
        rule_package_version_id=an_id(6),
        law_date=date(2028, 8, 18),
        state=BuildStatus(state),
        snapshot_id=None,
        passport_version_id=None,
    )


def documents(*, waiting: int = 0, rejected: int = 0) -> FakeTx:
    answers: dict[str, list[Row]] = {
        "builds/progress": [{"waiting": waiting, "rejected": rejected}],
        "builds/make_snapshot": [{"snapshot_id": SNAPSHOT}],
        "builds/take_document": [{"external_ref": "bom.csv"}],
        "events/lock_head": [{"now": datetime.now(UTC), "aggregate_version": None, "event_hash": None}],
    }
    return FakeTx(answers)


def told(tx: FakeTx) -> dict[str, object]:
    """What the event of a build that was stopped says, but for its salt."""
    event = tx.params("events/append")
    assert (event["event_type"], event["aggregate_id"]) == ("BUILD_STOPPED", BUILD)
    assert (event["tenant_id"], event["actor_id"]) == (TENANT, ACTOR)
    said = json.loads(str(event["payload"]))
    del said["salt"]
    return dict(said)


async def test_a_job_of_no_build_holds_none() -> None:
    tx = FakeTx()

    assert await builds.hold(tx, None, TENANT) is None
    assert tx.asked == []


async def test_a_build_is_held_for_its_tenant() -> None:
    row = {name: getattr(a_build(), name) for name in Build.__struct_fields__}
    tx = FakeTx({"builds/lock": [row]})

    assert await builds.hold(tx, BUILD, TENANT) == a_build()
    assert tx.params("builds/lock") == IDS


async def test_another_tenants_build_is_not_found() -> None:
    with pytest.raises(Permanent, match="there is no such build"):
        await builds.hold(FakeTx(), BUILD, TENANT)


async def test_the_last_document_makes_the_snapshot_and_queues_its_sealing() -> None:
    tx = documents()
    await builds.documents_done(tx, a_build(), actor_id=ACTOR)

    assert tx.params("builds/fill_snapshot") == IDS | {"snapshot_id": SNAPSHOT}
    assert tx.params("builds/move")["state"] == "SNAPSHOT"
    assert tx.params("builds/move")["snapshot_id"] == SNAPSHOT
    [job] = tx.queued
    assert (job.type, job.idempotency_key) == ("BUILD_SNAPSHOT", str(SNAPSHOT))
    ids = {"snapshot_id": str(SNAPSHOT), "passport_id": str(a_build().passport_id), "build_id": str(BUILD)}
    assert job.payload == ids | {"seal": True}


@pytest.mark.parametrize(
    ("waiting", "state"), [(1, "DOCUMENTS"), (0, "SNAPSHOT"), (0, "COMPILE"), (0, "DONE"), (1, "STOPPED")]
)
async def test_nothing_happens_before_the_last_document_or_twice(waiting: int, state: str) -> None:
    tx = documents(waiting=waiting)
    await builds.documents_done(tx, a_build(state), actor_id=ACTOR)

    assert set(tx.names) <= {"builds/progress"}
    assert tx.queued == []


async def test_a_rejected_document_among_them_stops_the_build() -> None:
    tx = documents(rejected=1)
    await builds.documents_done(tx, a_build(), actor_id=ACTOR)

    assert "builds/stop_rejected" in tx.names
    assert told(tx) == {"passport_id": str(an_id(5)), "step": "DOCUMENTS", "code": "VALIDATION_ERROR"}
    assert tx.queued == []


@pytest.mark.parametrize("state", ["DOCUMENTS", "STOPPED"])
async def test_a_document_that_is_wanted_is_taken(state: str) -> None:
    tx = documents()

    assert await builds.take_document(tx, a_build(state), "bom.csv", an_id(7))
    wanted = {"external_ref": "bom.csv", "document_version_id": an_id(7)}
    assert tx.params("builds/take_document") == IDS | wanted


async def test_a_document_is_not_taken_when_other_bytes_are_wanted() -> None:
    tx = FakeTx({"builds/expects": [{"external_ref": "bom.csv"}]})

    assert not await builds.take_document(tx, a_build(), "bom.csv", an_id(7))


@pytest.mark.parametrize("state", ["SNAPSHOT", "COMPILE", "SIGN", "QR", "DONE"])
async def test_what_comes_after_the_documents_were_closed_is_not_taken(state: str) -> None:
    tx = documents()

    assert not await builds.take_document(tx, a_build(state), "bom.csv", an_id(7))
    assert tx.asked == []


@pytest.mark.parametrize("state", ["SNAPSHOT", "DONE"])
async def test_a_rejection_that_comes_late_stops_nothing(state: str) -> None:
    tx = documents(rejected=1)
    await builds.stop_rejected(tx, a_build(state), actor_id=ACTOR)

    assert tx.asked == []


async def test_a_document_that_the_build_does_not_expect_is_refused() -> None:
    with pytest.raises(Permanent, match=r"no such document 'other\.csv' in the build"):
        await builds.take_document(FakeTx(), a_build(), "other.csv", an_id(7))


async def test_stopping_keeps_the_reasons_and_tells_without_their_words() -> None:
    tx = documents()
    error = Permanent("RULES_INVALID", "ß of the supplier")
    await builds.stop(tx, a_build("COMPILE"), BuildStatus.COMPILE, error, actor_id=ACTOR)

    errors = json.loads(str(tx.params("builds/stop")["errors"]))
    assert errors == [{"where": "RULES_INVALID", "message": "ß of the supplier"}]
    assert told(tx) == {"passport_id": str(an_id(5)), "step": "COMPILE", "code": "RULES_INVALID"}


async def test_a_build_that_had_stopped_is_not_told_of_again() -> None:
    tx = documents(rejected=1)
    await builds.documents_done(tx, a_build("STOPPED"), actor_id=ACTOR)

    assert "builds/stop_rejected" in tx.names
    assert "events/append" not in tx.names


async def test_no_build_is_neither_moved_nor_stopped() -> None:
    tx = FakeTx()
    await builds.finish(tx, None, BuildStatus.QR, VERSION)
    await builds.stop_rejected(tx, None, actor_id=ACTOR)

    assert tx.asked == []


async def test_moving_names_what_was_made() -> None:
    tx = FakeTx()
    build = msgspec.structs.replace(a_build("COMPILE"), snapshot_id=SNAPSHOT)
    await builds.finish(tx, build, BuildStatus.COMPILE, SNAPSHOT, passport_version_id=VERSION)

    made = {"snapshot_id": None, "passport_version_id": VERSION}
    assert tx.params("builds/move") == IDS | {"state": "SIGN"} | made


@pytest.mark.parametrize("step", builds.STEPS)
@pytest.mark.parametrize("state", BuildStatus)
async def test_a_build_takes_the_step_it_stands_at_or_was_stopped_at(
    step: BuildStatus, state: BuildStatus
) -> None:
    tx = FakeTx()
    build = msgspec.structs.replace(a_build(state), snapshot_id=SNAPSHOT, passport_version_id=SNAPSHOT)
    await builds.finish(tx, build, step, SNAPSHOT)

    moved = [builds.STEPS[step].next] if state in {step, BuildStatus.STOPPED} else []
    assert [each.params["state"] for each in tx.asked] == moved


@pytest.mark.parametrize("step", [step for step, each in builds.STEPS.items() if each.about is not None])
async def test_a_build_waits_for_the_step_of_its_own_snapshot_and_version(step: BuildStatus) -> None:
    build = msgspec.structs.replace(a_build(step), snapshot_id=SNAPSHOT, passport_version_id=VERSION)
    own = {"snapshot_id": SNAPSHOT, "passport_version_id": VERSION}[str(builds.STEPS[step].about)]

    assert builds.waits_for(build, step, own)
    assert not builds.waits_for(build, step, an_id(8))
    assert not builds.waits_for(build, step)


def test_the_table_leads_from_the_documents_to_the_end_and_each_step_has_a_handler() -> None:
    way = [BuildStatus.DOCUMENTS]
    while way[-1] in builds.STEPS:
        way.append(builds.STEPS[way[-1]].next)

    assert way == [state for state in BuildStatus if state != BuildStatus.STOPPED]
    assert {each.job_type for each in builds.STEPS.values()} <= set(registry.load())
