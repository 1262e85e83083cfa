"""RECORD_DEAD_LETTER: one event for each death that is not told yet, and for nothing else."""

from datetime import UTC, datetime
from typing import Any

from bpc_worker.testing import a_job, an_id, drain
from handlers.record_dead_letter import SPEC

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
NO_END = {"now": NOON, "aggregate_version": None, "event_hash": None}


def death(at: str | None = "2027-03-01T11:00:00.000000Z", *, recorded: bool = False) -> dict[str, Any]:
    died = {"died_at": at, "attempt": at and 5, "code": at and "LEASE_EXPIRED"}
    return {"type": "RUN_COMMAND", "status": "DEAD_LETTER" if at else "QUEUED", "recorded": recorded} | died


async def told(*deaths: dict[str, Any]) -> tuple[str, str | None, list[Any]]:
    answers = {"jobs/deaths": deaths, "events/lock_head": [NO_END]}
    job = (
        await drain(SPEC, a_job("RECORD_DEAD_LETTER", payload={"job_id": str(an_id(7))}), answers=answers)
    ).only
    return job.status, job.code, [each for each in job.wrote if each.text == "events/append"]


async def test_a_death_becomes_an_event_of_the_jobs_own_chain() -> None:
    status, _, [event] = await told(death())

    assert status == "SUCCEEDED"
    assert (event.params["aggregate_type"], event.params["aggregate_id"]) == ("job", an_id(7))
    assert event.params["event_type"] == "JOB_DEAD_LETTERED"
    payload = str(event.params["payload"])
    assert payload.startswith(
        '{"attempt":5,"code":"LEASE_EXPIRED","died_at":"2027-03-01T11:00:00.000000Z","job_type":"RUN_COMMAND"'
    )


async def test_what_was_told_already_is_not_told_again() -> None:
    second = death("2027-03-01T11:30:00.000000Z")

    assert await told(death(recorded=True)) == ("SUCCEEDED", None, [])
    assert len((await told(death(recorded=True), second))[2]) == 1
    assert len((await told(death(), second))[2]) == 2


async def test_a_job_that_never_died_and_one_of_nobody_are_refused() -> None:
    assert await told(death(None)) == ("FAILED", "VALIDATION_ERROR", [])
    assert await told() == ("FAILED", "NOT_FOUND", [])
