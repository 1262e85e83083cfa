"""Whether a version is in force, told by a list that a worker signs after every change and every hour."""

from asyncio import run
from functools import partial
from uuid import uuid4

import pytest

from bpc_worker.core.passport.status_list import Status, StatusList, verify_status_list
from tests.support.database import Database
from tests.support.domain import Domain, domain
from tests.support.status_lists import KEY, REGISTRY, Places, register_key
from tests.support.worker import until, worker

HOST = "https://id.acme.example"  # of the domain's own list


class Listed:
    """A signed version and its place."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.domain: Domain = domain(db)
        self.number, self.idx = (int(str(each)) for each in run(self._allot()))

    async def _allot(self) -> tuple[object, object]:
        places = Places(self.db)
        given = await places.allot(self.domain.passport_version_id, issuer=HOST)
        await places.allot(uuid4(), issuer=HOST)
        places.pool.close()
        return given

    def become(self, status: str) -> None:
        self.db.run("UPDATE passport_versions SET status = %s", [status])

    def read(self) -> StatusList | None:
        text = self.db.one("SELECT token FROM status_lists")["token"]
        return None if text is None else verify_status_list(str(text), REGISTRY)

    def told(self, status: Status) -> StatusList | None:
        found = self.read()
        return found if found is not None and found.status(self.idx) is status else None

    def jobs(self) -> list[dict[str, object]]:
        return self.db.run("SELECT * FROM jobs WHERE type = 'SIGN_STATUS_LIST' ORDER BY created_at")


@pytest.fixture
def listed(db: Database) -> Listed:
    return Listed(db)


def test_a_change_of_status_is_told_within_seconds(listed: Listed) -> None:
    register_key(listed.db)
    with worker(listed.db.url_as("bpc_worker"), **KEY):
        for status in ("ACTIVE", "SUPERSEDED", "REVOKED"):
            listed.become(status)
            told = partial(listed.told, Status[status])
            found = until(told, within=30, what=f"{status} in the list")

    assert found is not None
    assert found.uri == f"{HOST}/status/{listed.number}"
    assert found.expires_at - found.issued_at == 86400
    assert sum(found.status(idx) is not Status.NOT_IN_FORCE for idx in range(2**17)) == 1
    assert {job["status"] for job in listed.jobs()} == {"SUCCEEDED"}


def test_changes_of_the_same_seconds_are_one_job(listed: Listed) -> None:
    register_key(listed.db)
    with listed.db.connect() as connection, connection.transaction():
        for status in ("ACTIVE", "SUPERSEDED", "REVOKED"):
            connection.execute("UPDATE passport_versions SET status = %s", [status])

    assert [job["payload"] for job in listed.jobs()] in (
        [{"list": listed.number}],
        [{"list": listed.number}] * 2,
    )


def test_without_a_key_nothing_is_queued_and_the_place_knows_all_the_same(listed: Listed) -> None:
    listed.become("ACTIVE")
    listed.become("REVOKED")

    assert listed.jobs() == []
    places = listed.db.run("SELECT status FROM status_places ORDER BY status")
    assert [place["status"] for place in places] == [Status.REVOKED, Status.NOT_IN_FORCE]


def test_one_job_for_all_lists_queues_one_for_each(listed: Listed) -> None:
    register_key(listed.db)
    with worker(listed.db.url_as("bpc_worker"), **KEY):
        listed.db.enqueue("SIGN_STATUS_LIST")
        until(listed.read, within=20, what="a signed list")

    assert [job["payload"] for job in listed.jobs()] == [{}, {"list": listed.number}]


@pytest.mark.parametrize(
    ("key", "payload", "code"),
    [
        ({}, "{}", "CONFIG_MISSING"),
        (
            KEY,
            '{"list": 1}',
            "SIGNING_KEY_MISSING",
        ),  # the worker has a key, and the tenant's registry has not
        (KEY, '{"list": 77}', "NOT_FOUND"),
        (KEY, '{"list": 0}', "VALIDATION_ERROR"),
    ],
)
def test_what_cannot_be_signed_is_said(listed: Listed, key: dict[str, str], payload: str, code: str) -> None:
    with worker(listed.db.url_as("bpc_worker"), **key):
        job_id = listed.db.enqueue("SIGN_STATUS_LIST", payload)
        until(lambda: listed.db.job(job_id)["status"] == "FAILED", within=20, what="the job's end")

    assert listed.db.job(job_id)["last_error"]["code"] == code  # type: ignore[index]
    assert listed.read() is None


def test_status_lists_are_signed_by_the_clock_where_there_is_a_key(db: Database) -> None:
    db.tenant()
    with worker(db.url_as("bpc_worker"), **KEY) as running:
        running.wait_ready()
        planned = until(
            lambda: db.run("SELECT name FROM schedule_ticks"), within=30, what="a plan for the hours"
        )

    assert planned == [{"name": "status_lists"}]
