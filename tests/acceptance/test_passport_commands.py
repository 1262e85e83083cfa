"""Passports from the command line: real processes, a real worker, a real PostgreSQL."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from bpc_worker.pipeline.builds.start import BuildState
from bpc_worker.pipeline.builds.watch import watch
from bpc_worker.postgres.embedded.server import Server
from tests.support.database import Database
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.signed import Signed, clone, signed_passport
from tests.support.worker import COMMAND, command, worker

SERIAL = "HLS-EV78-2028-000417"


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


def run(signed: Signed | Database, *words: object, tenant: str = "acme") -> subprocess.CompletedProcess[str]:
    db = signed.db if isinstance(signed, Signed) else signed
    return command(db.url_as("bpc_app"), "passport", *map(str, words), "--tenant", tenant)


def said(signed: Signed | Database, *words: object) -> str:
    done = run(signed, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def statuses(signed: Signed) -> dict[str, str]:
    rows = signed.db.run("SELECT passport_version_id, status FROM passport_versions")
    return {str(row["passport_version_id"]): str(row["status"]) for row in rows}


def events(signed: Signed) -> list[tuple[str, dict[str, object]]]:
    rows = signed.db.run(
        "SELECT event_type, payload FROM events WHERE aggregate_type = 'passport' ORDER BY aggregate_version"
    )
    return [(str(row["event_type"]), dict(row["payload"])) for row in rows]  # type: ignore[call-overload]  # jsonb


def test_a_folder_becomes_a_passport_and_the_same_folder_is_the_same_passport(db: Database) -> None:
    pipeline(db)
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        first = run(db, "build", EXAMPLE)
        again = said(db, "build", EXAMPLE)
        other = json.loads(said(db, "build", EXAMPLE, "--again", "--json"))

    assert first.returncode == 0, first.stderr
    assert UUID(first.stdout.strip()) == UUID(again)
    assert " DOCUMENTS: battery.json WAITING" in first.stderr
    assert " DONE" in first.stderr
    assert other["state"] == "DONE"
    assert other["passport_version_id"] != again
    db.check_history()


def test_a_rejected_document_is_listed_and_the_build_goes_on_once_it_is_mended(
    db: Database, tmp_path: Path
) -> None:
    pipeline(db)
    folder = tmp_path / "battery"
    shutil.copytree(EXAMPLE, folder)
    good = (folder / "bom.csv").read_text()
    (folder / "bom.csv").write_text(good.replace("49,250", "forty-nine"))
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        stopped = run(db, "build", folder)
        (folder / "bom.csv").write_text(good)
        mended = run(db, "build", folder)

    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "bom.csv: line 2" in stopped.stderr
    assert "run the same command again" in stopped.stderr
    assert mended.returncode == 0, mended.stderr


def test_without_a_worker_the_build_waits(db: Database) -> None:
    pipeline(db)
    queued = run(db, "build", EXAMPLE, "--no-wait")
    late = run(db, "build", EXAMPLE, "--timeout", "0.5")

    assert queued.returncode == 0, queued.stderr
    assert UUID(queued.stdout.strip())
    assert (late.returncode, late.stdout) == (1, "")
    assert "not done within 0.5 s: it stands at DOCUMENTS" in late.stderr


def test_a_job_that_gave_up_ends_the_waiting(db: Database) -> None:
    path = pipeline(db)
    build = path.build()

    def looked(_: BuildState) -> None:
        db.run(
            "UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'x', lease_expires_at = now()"
            " WHERE type = 'INGEST_DOCUMENT' AND status = 'QUEUED'"
        )
        db.run(
            "UPDATE jobs SET status = 'FAILED', lease_owner = NULL, lease_expires_at = NULL,"
            " finished_at = now(), fail_code = 'CONFIG_MISSING', fail_reason = 'no folder'"
            " WHERE status = 'RUNNING'"
        )

    found = path.call(lambda pipeline: watch(pipeline, build, seconds=30, looked=looked))

    assert not found.ended
    assert {each.fail_code for each in found.troubles} == {"CONFIG_MISSING"}


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_a_folder_that_cannot_be_used_says_why(folder: str, db: Database, tmp_path: Path) -> None:
    pipeline(db)
    (tmp_path / "empty").mkdir()
    done = run(db, "build", tmp_path / folder)

    assert done.returncode in {2, 3}
    assert "passport.yaml" in done.stderr


def test_a_version_is_listed_and_shown(signed: Signed) -> None:
    version = str(signed.version)
    [listed] = [json.loads(line) for line in said(signed, "list", "--json").splitlines()]
    shown = json.loads(said(signed, "show", SERIAL, "--json"))
    text = said(signed, "show", version)

    assert (listed["passport_version_id"], listed["status"], listed["serial"]) == (version, "SIGNED", SERIAL)
    assert shown["passport_version_id"] == version
    assert shown["signing_key_id"] == "development"
    assert shown["fields"]["performance"]["energy"] == {"unit": "kWh", "value": "77.958"}
    assert "performance.energy" in text
    assert said(signed, "list", "--status", "ACTIVE") == ""
    assert said(signed, "list", "--passport", SERIAL).startswith(version)


def test_a_version_comes_into_force_supersedes_another_and_is_revoked(signed: Signed) -> None:
    first = str(signed.version)
    with worker(signed.db.url_as("bpc_worker")) as running:
        running.wait_ready()
        second = said(signed, "build", EXAMPLE, "--again")

    assert said(signed, "activate", first) == first
    assert said(signed, "activate", second) == second
    assert said(signed, "activate", SERIAL) == second
    assert statuses(signed) == {first: "SUPERSEDED", second: "ACTIVE"}
    assert said(signed, "verify", second, "--current").splitlines()[-2].startswith("valid and in force: ")
    former, not_current = run(signed, "verify", first), run(signed, "verify", first, "--current")
    assert (former.returncode, not_current.returncode) == (0, 1)
    assert f"valid as issued, superseded by {second}: " in former.stdout
    back = run(signed, "activate", first)
    assert back.returncode == 2
    assert "SUPERSEDED, not SIGNED" in back.stderr
    assert said(signed, "revoke", second, "--reason", "the mass was wrong") == second
    assert said(signed, "revoke", second, "--reason", "again") == second
    assert statuses(signed) == {first: "SUPERSEDED", second: "REVOKED"}
    revoked, machine = run(signed, "verify", second), run(signed, "verify", second, "--json")
    assert (revoked.returncode, machine.returncode) == (1, 1)
    assert "\nnot valid: revoked: " in revoked.stdout
    assert json.loads(machine.stdout)["valid"] is False
    told = [
        (kind, data)
        for kind, data in events(signed)
        if kind.split("_")[1] in {"ACTIVATED", "SUPERSEDED", "REVOKED"}
    ]
    assert [(kind, data["passport_version_id"]) for kind, data in told] == [
        ("PASSPORT_ACTIVATED", first),
        ("PASSPORT_SUPERSEDED", first),
        ("PASSPORT_ACTIVATED", second),
        ("PASSPORT_REVOKED", second),
    ]
    assert told[1][1]["superseded_by"] == second
    assert told[2][1]["supersedes"] == first
    assert (told[3][1]["reason"], told[3][1]["former_status"]) == ("the mass was wrong", "ACTIVE")


def test_of_two_who_activate_at_once_both_are_heard(signed: Signed) -> None:
    """One version after the other is in force; neither command fails, and one is ACTIVE in the end."""
    with worker(signed.db.url_as("bpc_worker")) as running:
        running.wait_ready()
        second = said(signed, "build", EXAMPLE, "--again")
    url = signed.db.url_as("bpc_app")
    env = {**os.environ, "BPC_DATABASE_URL": url}
    words = [
        [*COMMAND, "passport", "activate", each, "--tenant", "acme"] for each in (str(signed.version), second)
    ]
    both = [subprocess.Popen(each, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for each in words]
    ended = [(each.communicate(timeout=60), each.returncode) for each in both]

    assert [code for _, code in ended] == [0, 0], ended
    assert sorted(statuses(signed).values()) == ["ACTIVE", "SUPERSEDED"]


def test_what_a_revoked_key_has_signed_does_not_come_into_force(signed: Signed) -> None:
    signed.db.run("UPDATE signing_keys SET status = 'REVOKED'")
    done = run(signed, "activate", signed.version)

    assert done.returncode == 1
    assert "SIGNATURE_INVALID" in done.stderr
    assert statuses(signed) == {str(signed.version): "SIGNED"}


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "x" * 1001])
def test_a_revocation_needs_a_reason(reason: str, signed: Signed) -> None:
    assert run(signed, "revoke", signed.version, "--reason", reason).returncode == 2
    assert statuses(signed) == {str(signed.version): "SIGNED"}


def test_another_version_is_compiled_from_the_same_snapshot(signed: Signed) -> None:
    snapshot = signed.db.one("SELECT snapshot_id FROM data_snapshots")["snapshot_id"]
    rest = ("--rules", "battery_core", "--law-date", "2028-08-18")
    with worker(signed.db.url_as("bpc_worker")) as running:
        running.wait_ready()
        made = said(signed, "compile", SERIAL, "--snapshot", snapshot, *rest, "--wait")

    assert made != str(signed.version)
    assert made in statuses(signed)
    unknown = run(signed, "compile", SERIAL, "--snapshot", uuid4(), *rest)
    assert (unknown.returncode, unknown.stdout) == (3, "")


def test_a_passport_is_verified_and_explained_down_to_the_cell(signed: Signed) -> None:
    verified = json.loads(said(signed, "verify", signed.version, "--json"))
    explained = said(signed, "explain", SERIAL, "composition.mass")
    sha256 = signed.db.one(
        "SELECT encode(sha256, 'hex') AS hex FROM document_versions v JOIN documents USING (document_id)"
        " WHERE external_ref = 'battery.json'"
    )["hex"]

    assert (verified["valid"], verified["status"], verified["current"]) == (True, "NOT_IN_FORCE", False)
    assert "from battery.json " in explained
    assert f"(sha256 {sha256})" in explained
    assert run(signed, "explain", SERIAL, "no.such.field").returncode == 3


def test_a_replay_names_what_was_changed(signed: Signed) -> None:
    assert said(signed, "replay", "--all") == f"{signed.version}  OK"
    signed.tamper("UPDATE passport_versions SET proof = proof || ' '")
    done = run(signed, "replay", signed.version, "--json")
    verified = run(signed, "verify", signed.version)

    assert done.returncode == 1
    assert json.loads(done.stdout)["result"] == "REPLAY_MISMATCH"
    assert json.loads(done.stdout)["part"] == "proof"
    assert verified.returncode == 1
    assert verified.stdout.startswith("FAIL  proof.json")
    assert run(signed, "replay").returncode == 2


def test_an_export_is_the_same_bytes_every_time_and_verifies_without_a_database(
    signed: Signed, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    first = Path(said(signed, "export", signed.version, "--out", one))
    said(signed, "activate", signed.version)
    signed.db.run("UPDATE signing_keys SET status = 'RETIRED'")
    found_later = "SELECT tenant_id, fact_id, document_version_id, pointer || '-' FROM fact_sources LIMIT 1"
    signed.db.run(
        f"INSERT INTO fact_sources (tenant_id, fact_id, document_version_id, pointer) {found_later}"
    )
    second = Path(said(signed, "export", SERIAL, "--out", other / "named.zip"))
    keys = command(
        signed.db.url_as("bpc_app"), "keys", "export", "--out", str(other / "keys.json"), "--tenant", "acme"
    )

    assert (first.parent, first.name) == (one, f"passport-{signed.version}.zip")
    assert second.name == "named.zip"
    assert first.read_bytes() == second.read_bytes()
    assert keys.returncode == 0, keys.stderr
    offline = {name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PG"))}

    def verify(*options: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, "passport", "verify", "named.zip", *options],
            cwd=other, env=offline | more, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    beside = verify()
    assert (beside.returncode, beside.stdout) == (2, "")
    assert "not valid: no trusted keys" in beside.stderr
    assert verify("--keys", "keys.json").returncode == 0
    named = verify(BPC_KEYS_FILE="keys.json")
    assert named.returncode == 0
    assert "signed with key development, fingerprint " in named.stdout
    assert "the development key: everybody has that, so it proves nothing" in named.stderr


def test_an_export_never_overwrites_anything(signed: Signed, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.zip"
    (tmp_path / "link.zip").symlink_to(elsewhere)
    (tmp_path / "taken.zip").write_text("mine")
    kept = {
        each: run(signed, "export", signed.version, "--out", tmp_path / each)
        for each in ("link.zip", "taken.zip")
    }
    twice = [run(signed, "export", signed.version, "--out", tmp_path) for _ in range(2)]

    assert [done.returncode for done in kept.values()] == [1, 1]
    assert "is not overwritten" in kept["taken.zip"].stderr
    assert not elsewhere.exists()
    assert (tmp_path / "taken.zip").read_text() == "mine"
    assert [done.returncode for done in twice] == [0, 0]
    assert "was there already" in twice[1].stderr
    assert not list(tmp_path.glob(".bpc-*"))


def test_a_view_shows_what_its_audience_may_see(signed: Signed, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    command(signed.db.url_as("bpc_app"), "keys", "export", "--out", str(keys), "--tenant", "acme")
    name = said(signed, "export", signed.version, "--out", tmp_path, "--audience", "public")
    done = subprocess.run(
        [*COMMAND, "passport", "verify", name, "--keys", str(keys)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert name.endswith(f"{signed.version}-public.sd-jwt")
    assert done.returncode == 0, done.stdout
    assert "complete for public" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("show",), ("activate",), ("revoke", "--reason", "r"), ("replay",), ("verify",), ("explain", "a.b"),
        ("export", "--out", "."),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_what_another_tenant_has_is_not_there(words: tuple[str, ...], signed: Signed) -> None:
    signed.db.tenant("other")
    name, *rest = words
    theirs = run(signed, name, signed.version, *rest, tenant="other")
    nobodys = run(signed, name, uuid4(), *rest, tenant="other")

    assert (theirs.returncode, nobodys.returncode) == (3, 3)
    assert (theirs.stdout, theirs.stderr) == (nobodys.stdout, nobodys.stderr)
    assert statuses(signed) == {str(signed.version): "SIGNED"}
