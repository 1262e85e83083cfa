"""What lacks what the law asks for does not come into force, unless somebody answers for it by name."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from uuid import UUID

import psycopg
import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.jobs import wait_for_job
from bpc_worker.pipeline.passports import activate, compile_version
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.pipeline import pipeline
from tests.support.signed import Signed, clone
from tests.support.worker import command, until, worker

pytestmark = pytest.mark.acceptance

WHOLE, LATER = date(2028, 9, 15), date(2028, 10, 15)  # the example's own is before these
RULES = """
field identity.class: Text for public = "EV";
field condition.bms: Bool for nobody = missing("not declared");
field serial: Text for public = toText(requireSome(recordGet(
  requireSome(getFact("Identity", "identity")), "serial")));
field weight: Text for public =
  if (monthOf(lawDate()) == month("2028-09")) then "400 kg" else missing("not declared");
field cycles: Int for public = if (lawDate() < date("2028-09-01")) then missing("not declared") else 3000;
field weighed: Bool for public = emitCompliance("WEIGHED", lawDate() >= date("2028-09-01"), "it was weighed")
  severity stop for public;
law "A list" by identity.class {
  point "T-1" "Serial number" fields (serial) source "1" basis law gate stop for public { EV: required; };
  point "T-2" "Weight" fields (weight) source "2" basis law gate stop for public { EV: required; };
  point "T-3" "Cycles" fields (cycles) source "3" basis law gate stop for public { EV: required when bms; };
  point "T-4" "Colour" fields (weight) source "4" basis law gate warn for public { EV: required; };
};
"""


@dataclass(frozen=True)
class Passports:
    """A passport with three versions: one lacks much, one is whole, one has lost its weight."""

    signed: Signed
    whole: str
    later: str

    def run(self, *words: str, role: str = "bpc_app") -> subprocess.CompletedProcess[str]:
        return command(self.signed.db.url_as(role), "passport", *words, "--tenant", "acme")

    def activate(self, version: object) -> None:
        self.signed.path.call(lambda pipeline: activate(pipeline, str(version)))

    def in_force(self) -> list[str]:
        rows = self.signed.db.run("SELECT passport_version_id FROM passport_versions WHERE status = 'ACTIVE'")
        return [str(row["passport_version_id"]) for row in rows]


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Passports]:
    with databases.database(server) as db:
        path = pipeline(db, rules=RULES)
        build = path.build()
        with worker(db.url_as("bpc_worker")):
            state = path.ended(build)
            assert state.passport_version_id is not None, state.errors
            whole, later = (path.call(partial(_another, db=db, day=day)) for day in (WHOLE, LATER))
            unsigned = "SELECT FROM passport_versions WHERE status = 'COMPILING'"
            until(lambda: not db.run(unsigned), within=60, what="all signatures", every=0.1)
        yield Passports(Signed(path, state.passport_version_id), whole, later)


async def _another(pipeline: PipelineSession, *, db: Database, day: date) -> str:
    """A version of the same facts, under the law of another day."""
    made = db.one("SELECT passport_id, snapshot_id, name FROM passport_builds, rule_packages")
    passport, snapshot, rules = map(str, made.values())
    job = await compile_version(pipeline, passport, snapshot_id=UUID(snapshot), rules=rules, law_date=day)
    ended = await wait_for_job(pipeline, job, seconds=60, looked=lambda _: None)
    return str((ended.result or {})["passport_version_id"])


@pytest.fixture
def passports(original: Passports) -> Iterator[Passports]:
    with clone(original.signed) as copy:
        yield Passports(copy, original.whole, original.later)


def test_a_first_version_that_lacks_something_is_refused_and_the_report_names_what(
    passports: Passports,
) -> None:
    first = str(passports.signed.version)
    with pytest.raises(Permanent) as error:
        passports.activate(first)
    told = passports.run("gaps", first)
    machine = json.loads(passports.run("gaps", first, "--format", "json").stdout)
    whole = passports.run("gaps", passports.whole)

    assert error.value.code == "PASSPORT_INCOMPLETE"
    assert error.value.detail == {"stops": ["T-2", "T-3", "WEIGHED"]}
    assert passports.in_force() == []
    assert told.returncode == 1
    named = [line.split()[0] for line in told.stdout.splitlines() if not line.startswith(" ")]
    assert named == ["T-2", "T-3", "T-4", "WEIGHED"]
    assert "condition.bms, which nobody declared" in told.stdout
    assert "incomplete: 2 required points missing" in told.stderr
    assert {each["point"]: each["state"] for each in machine["points"]} == {
        "T-1": "present", "T-2": "missing", "T-3": "missing", "T-4": "missing",
    }  # fmt: skip
    assert (whole.returncode, whole.stdout) == (0, "")
    assert "nothing required is missing" in whole.stderr


def test_on_another_day_the_same_facts_are_looked_at_anew(passports: Passports) -> None:
    first = str(passports.signed.version)

    assert passports.run("gaps", first, "--date", WHOLE.isoformat()).returncode == 0
    product = passports.signed.db.one("SELECT identifier FROM battery_products")["identifier"]
    model = passports.run("gaps", str(product))
    assert passports.run("gaps", str(product), "--date", WHOLE.isoformat()).returncode == 0
    assert "T-2     Weight (2): missing, required" in model.stdout  # of the newest version


def test_the_database_itself_keeps_the_gate(passports: Passports) -> None:
    db = passports.signed.db
    with db.connect("bpc_app") as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [db.tenant("acme")])
        with pytest.raises(psycopg.errors.RestrictViolation, match="T-2, T-3, WEIGHED"):
            connection.execute(
                "UPDATE passport_versions SET status = 'ACTIVE' WHERE passport_version_id = %s",
                [passports.signed.version],
            )


def test_a_later_version_may_not_lose_a_point(passports: Passports) -> None:
    passports.activate(passports.whole)
    with pytest.raises(Permanent) as error:
        passports.activate(passports.later)

    assert error.value.detail == {"stops": ["T-2"]}
    assert passports.in_force() == [passports.whole]


def test_who_has_the_role_answers_for_it_with_a_reason_and_the_trail_keeps_it(passports: Passports) -> None:
    first = str(passports.signed.version)
    passports.signed.db.url_as("bpc_release")
    passports.signed.db.run("GRANT bpc_app TO bpc_release_login")
    reason = ("--despite", "sample for a customs office")
    refused = passports.run("activate", first, *reason)
    released = passports.run("activate", first, *reason, role="bpc_release")
    needless = passports.run("activate", passports.whole, *reason, role="bpc_release")
    passports.activate(passports.later)  # it lacks no more than the one in force

    assert refused.returncode == 1
    assert "bpc_release" in refused.stderr
    assert (released.returncode, released.stdout.strip()) == (0, first), released.stderr
    assert "incomplete: 2 required points missing" in released.stderr
    assert "does not hold (stop): WEIGHED: it was weighed" in released.stderr
    assert needless.returncode == 2
    assert passports.in_force() == [passports.later]
    event = passports.signed.db.one(
        "SELECT actor_id, payload FROM events WHERE event_type = 'PASSPORT_RELEASED'"
    )
    assert event["actor_id"] == "login:bpc_release_login"
    payload = event["payload"]
    assert isinstance(payload, dict)
    assert payload["passport_version_id"] == first
    assert payload["reason"] == "sample for a customs office"
    assert payload["missing"] == ["T-2", "T-3", "WEIGHED"]
