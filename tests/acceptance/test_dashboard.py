"""The dashboard as a person uses it, without JavaScript: a real server, a real worker, and a real kill."""

import http.client
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.browsing import Person
from tests.support.database import Database
from tests.support.operators import kinds, letters
from tests.support.serving import Serving, serving, token
from tests.support.worker import until, worker

PAYLOAD = '{"key": "Example Motors", "amount": 1.230, "id": "0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13"}'
EVERYTHING = ("read", "values", "operate", "webhooks")


@contextmanager
def dashboard(db: Database) -> Iterator[Serving]:
    """As an installation has it: a login that is nothing by itself."""
    with serving(db.url_as("bpc_web"), "dashboard") as running:
        yield running


def person(db: Database, running: Serving, *scopes: str, tenant: str | None = None) -> Person:
    made = token(db, *(scopes or EVERYTHING), tenant=tenant, name="anna" if tenant is None else "ben")
    return Person(running, made).sign_in()


def by(db: Database, event: str = "job:requeued") -> set[object]:
    rows = db.run("SELECT DISTINCT data ->> 'by' AS by FROM job_events WHERE type = %s", [event])
    return {row["by"] for row in rows}


def act(db: Database) -> dict[str, object]:
    return db.one("SELECT * FROM bulk_acts")


def test_a_dead_letter_that_is_retried_leaves_the_list_and_tells_who_did_it(db: Database) -> None:
    [job_id, other] = letters(db, 2, job_type="TEST_EFFECT", payload='{"key": "x"}')
    with dashboard(db) as running, worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        anna = person(db, running)
        assert job_id in anna.get("/dead").text
        assert f"/jobs/{job_id}/retry" in anna.page(f"/jobs/{job_id}").buttons
        answer = anna.press(f"/jobs/{job_id}", f"/jobs/{job_id}/retry")
        assert (answer.status, answer.headers["location"]) == (303, f"/jobs/{job_id}")
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=30)
        listed = anna.get("/dead").text
        assert job_id not in listed
        assert other in listed
        assert "SUCCEEDED" in anna.get(f"/jobs/{job_id}").text
        assert running.stop() == 0
    assert by(db) == {"bpc_web_login/token:anna"}


def test_the_ticked_are_discarded_and_no_others(db: Database) -> None:
    ids = letters(db, 5)
    with dashboard(db) as running:
        anna = person(db, running)
        answer = anna.press("/dead", "/dead/discard", job=ids[1:3])
        assert (answer.status, answer.headers["location"]) == (303, "/dead")
    assert [db.job(each)["status"] for each in ids] == [
        "DEAD_LETTER",
        "CANCELLED",
        "CANCELLED",
        *["DEAD_LETTER"] * 2,
    ]


def test_all_that_match_are_counted_first_and_retried_while_nobody_looks(db: Database) -> None:
    letters(db, 1200, job_type="TEST_EFFECT", code="LEASE_EXPIRED", payload='{"key": "x"}')
    letters(db, 30, job_type="TEST_NOOP", code="COMMAND_FAILED")
    with dashboard(db) as running:
        anna = person(db, running)
        asked = "/dead/confirm?act=retry&type=TEST_EFFECT"
        assert "Retry 1,200 dead letters?" in anna.get(asked).text
        assert kinds(db)["TEST_EFFECT", "DEAD_LETTER"] == 1200, "a question does nothing"

        refused = anna.fill(asked, "/bulk", typed="120")
        assert refused.status == 422
        assert "That is not the number: 1200." in refused.text
        assert db.run("SELECT FROM bulk_acts") == []

        answer = anna.fill(asked, "/bulk", typed="1,200")
        assert answer.status == 303, answer.text
        until(lambda: act(db)["status"] == "DONE", within=30)
        shown = anna.get(answer.headers["location"]).text
        assert "1,200 / 1,200" in shown
        assert "bpc_web_login/token:anna" in shown
    assert act(db)["touched"] == 1200
    assert kinds(db) == {("TEST_EFFECT", "QUEUED"): 1200, ("TEST_NOOP", "DEAD_LETTER"): 30}
    assert by(db) == {"bpc_web_login/token:anna"}


def held_rows(db: Database, ids: list[str]) -> "Iterator[object]":
    """Somebody holds these rows."""
    with db.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT FROM jobs WHERE job_id = ANY (%s::uuid[]) FOR UPDATE", [ids])
        yield connection


def test_an_act_on_many_shows_how_far_it_is_and_can_be_stopped(db: Database) -> None:
    ids = letters(db, 700)
    with dashboard(db) as running, contextmanager(held_rows)(db, ids[:50]):
        anna = person(db, running)
        answer = anna.fill("/dead/confirm?act=discard", "/bulk", typed="700")
        place = answer.headers["location"]
        until(lambda: act(db)["touched"] == 650, within=30)
        assert "650 / 700" in anna.get(place).text
        assert anna.press(place, f"{place}/stop").status == 303
        assert "STOPPED" in anna.get(place).text
    assert (act(db)["touched"], act(db)["stopped_by"]) == (650, "bpc_web_login/token:anna")
    assert kinds(db) == {("TEST_NOOP", "CANCELLED"): 650, ("TEST_NOOP", "DEAD_LETTER"): 50}


def test_a_kill_neither_loses_nor_doubles_and_another_server_goes_on(db: Database) -> None:
    ids = letters(db, 3000)
    with dashboard(db) as first:
        with contextmanager(held_rows)(db, ids[2000:]):
            anna = person(db, first)
            anna.fill("/dead/confirm?act=retry", "/bulk", typed="3000")
            until(lambda: int(str(act(db)["touched"])) >= 500, within=30)
            first.send(signal.SIGKILL)
            first.wait(within=20)
        touched = int(str(act(db)["touched"]))
        requeued = db.one("SELECT count(*) AS n FROM job_events WHERE type = 'job:requeued'")["n"]
        assert touched == requeued, "a page counts what it did, or did nothing"
        assert act(db)["status"] == "RUNNING"
        db.run("UPDATE bulk_acts SET lease_expires_at = clock_timestamp()")  # as after half a minute
        with dashboard(db):
            until(lambda: act(db)["status"] == "DONE", within=30)
    assert act(db)["touched"] == 3000
    events = db.one("SELECT count(*) AS n, count(DISTINCT job_id) AS jobs FROM job_events")
    assert events == {"n": 3000, "jobs": 3000}
    assert kinds(db) == {("TEST_NOOP", "QUEUED"): 3000}


def test_what_is_asked_for_without_the_pages_word_changes_nothing(db: Database) -> None:
    [job_id] = letters(db)
    with dashboard(db) as running:
        anna = person(db, running)
        word = dict(anna.page("/dead").forms["acts"].fields)["csrf"]
        path = f"/jobs/{job_id}/retry"
        for fields, headers in (
            ({}, {}), ({"csrf": "0" * 64}, {}), ({"csrf": word}, {"Sec-Fetch-Site": "cross-site"}),
            ({"csrf": word}, {"Origin": "http://elsewhere.example"}),
        ):  # fmt: skip
            assert anna.send(path, fields, **headers).status == 403
        assert anna.get(path).status == 405
        assert db.job(job_id)["status"] == "DEAD_LETTER"
        assert anna.send(path, {"csrf": word}).status == 303
    assert db.job(job_id)["status"] == "QUEUED"


def test_who_may_only_look_sees_no_values_and_changes_nothing(db: Database) -> None:
    [job_id] = letters(db, payload=PAYLOAD)
    with dashboard(db) as running:
        reader = person(db, running, "read")
        shown = reader.get(f"/jobs/{job_id}").text
        assert "Example Motors" not in shown
        assert "1.230" not in shown
        assert "0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13" in shown
        assert not reader.page(f"/jobs/{job_id}").buttons
        word = dict(reader.page("/dead").forms["acts"].fields)["csrf"]
        assert reader.send(f"/jobs/{job_id}/retry", {"csrf": word}).status == 403
        assert reader.send("/dead/discard", {"csrf": word, "job": job_id}).status == 403
        assert reader.get("/dead/export").status == 403
    assert db.job(job_id)["status"] == "DEAD_LETTER"


def test_who_may_see_values_sees_each_digit_and_takes_them_home(db: Database) -> None:
    [job_id] = letters(db, payload=PAYLOAD)
    with dashboard(db) as running:
        anna = person(db, running)
        assert "&#34;amount&#34;: 1.230" in anna.get(f"/jobs/{job_id}").text
        exported = anna.get("/dead/export?code=COMMAND_FAILED")
        assert exported.headers["content-type"] == "application/x-ndjson"
        [line] = [json.loads(each, parse_float=str) for each in exported.text.splitlines()]
    assert (line["job_id"], line["payload"]["amount"]) == (job_id, "1.230")
    assert "lease_token" not in line


def test_a_payload_is_mended_before_it_runs_again_and_what_it_was_is_kept(db: Database) -> None:
    [job_id] = letters(db, job_type="TEST_EFFECT", payload='{"key": 7}')
    with dashboard(db) as running:
        anna = person(db, running)
        action = f"/jobs/{job_id}/mend"
        assert anna.fill(f"/jobs/{job_id}", action, path="key", value="no JSON").status == 400
        assert anna.fill(f"/jobs/{job_id}", action, path="key", value='"x"').status == 303
        shown = anna.get(f"/jobs/{job_id}").text
        assert "job:payload_patched" in shown
        assert "bpc_web_login/token:anna" in shown
    assert db.job(job_id)["payload"] == {"key": "x"}
    kept = db.one("SELECT data FROM job_events WHERE type = 'job:payload_patched'")["data"]
    assert isinstance(kept, dict)
    assert kept["payload"] == {"key": 7}


def test_whoever_speaks_for_one_tenant_sees_and_moves_its_jobs_alone(db: Database) -> None:
    [ours] = letters(db, payload='{"key": "ours"}')
    theirs = letters(db, 3, tenant="other", payload='{"key": "theirs"}')
    with dashboard(db) as running:
        ben = person(db, running, tenant=db.tenant())
        for path in ("/", "/dead", "/pipeline", "/passports", "/webhooks", f"/search?q={theirs[0]}"):
            shown = ben.get(path)
            assert shown.status == 200, path
            assert "other" not in shown.text.replace("another", ""), path
            assert theirs[0] not in shown.text.replace(f"{theirs[0]}", "", 1) or path.startswith("/search"), (
                path
            )
        assert ours in ben.get("/dead").text
        assert ben.get(f"/jobs/{ours}").status == 200
        for path in (f"/jobs/{theirs[0]}", "/fleet"):
            assert ben.get(path).status in {403, 404}, path
        word = dict(ben.page("/dead").forms["acts"].fields)["csrf"]
        assert ben.send(f"/jobs/{theirs[0]}/retry", {"csrf": word}).status == 404
        assert "Discard 1 dead letters" in ben.get("/dead/confirm?act=discard").text
        assert ben.fill("/dead/confirm?act=discard", "/bulk").status == 303
        until(lambda: act(db)["status"] == "DONE", within=30)
        made = act(db)["bulk_act_id"]
        anna = person(db, running)
        assert anna.get(f"/bulk/{made}").status == 200
    assert db.job(ours)["status"] == "CANCELLED"
    assert {db.job(each)["status"] for each in theirs} == {"DEAD_LETTER"}
    assert by(db, "job:cancelled") == {"bpc_web_login/token:ben"}


@contextmanager
def events_of(running: Serving, person: Person, at: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", running.door_port("dashboard"), timeout=30)
    connection.request("GET", f"/live?at={at}", headers={"Cookie": person.cookie})
    try:
        with connection.getresponse() as stream:
            yield stream
    finally:
        connection.close()


def next_event(stream: http.client.HTTPResponse) -> str:
    """The next one with data."""
    lines: list[str] = []
    while True:
        line = stream.readline().decode().rstrip("\n")
        if line.startswith("data: "):
            lines.append(line.removeprefix("data: "))
        elif lines and not line:
            return "\n".join(lines)


def test_a_page_that_is_watched_shows_what_changes_and_ends_with_the_process(db: Database) -> None:
    [job_id] = letters(db)
    with dashboard(db) as running:
        anna = person(db, running)
        with events_of(running, anna, f"/jobs/{job_id}") as stream:
            assert stream.headers["Content-Type"] == "text/event-stream"
            assert "DEAD_LETTER" in next_event(stream)
            db.run("SELECT bpc_retry_job(%s)", [job_id])
            moved = next_event(stream)
            assert "QUEUED" in moved
            assert "csrf" not in moved
            running.send(signal.SIGTERM)
            assert running.wait(within=20) == 0
            assert stream.read() == b""


def test_what_does_not_move_or_may_not_be_seen_is_not_streamed(db: Database) -> None:
    [theirs] = letters(db, tenant="other")
    with dashboard(db) as running:
        ben = person(db, running, tenant=db.tenant())
        for at in ("/nowhere", "/dead/export", "//elsewhere.example/", "/jobs/x/retry"):
            assert ben.get(f"/live?at={at}").status == 404, at
        assert ben.get(f"/live?at=/jobs/{theirs}").status == 404, "as for one that is not there"
        assert ben.get("/live?at=/fleet").status == 403


@pytest.mark.parametrize("query", ["status=ALL", "nonsense=1", "after=x", "type=A&type=B"])
def test_an_address_that_means_nothing_is_refused(db: Database, query: str) -> None:
    with dashboard(db) as running:
        assert person(db, running).get(f"/dead?{query}").status in {400, 422}
