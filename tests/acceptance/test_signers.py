"""Who signs, in real workers: an external program, well and ill behaved, and keys that change under them."""

import json
import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.signing import Ed25519Signer, KeyStatus
from bpc_worker.pipeline.keys import add_key, change_key
from bpc_worker.pipeline.replays import Replayed, replay_version
from tests.support import signing_program
from tests.support.database import Database
from tests.support.pipeline import Pipeline, battery, pipeline
from tests.support.worker import until, worker

pytestmark = pytest.mark.acceptance

OLD, NEW = (Ed25519Signer(name, sha256(name.encode())) for name in ("2027-1", "2028-1"))


def seed_of(key: Ed25519Signer) -> bytes:
    return sha256(key.key_id.encode())


def in_environment(key: Ed25519Signer, *former: Ed25519Signer) -> dict[str, str]:
    kept = {each.key_id: b64encode(seed_of(each)).decode() for each in former}
    return {
        "BPC_SIGNING_KEY_ID": key.key_id,
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": b64encode(seed_of(key)).decode(),
        "BPC_SIGNING_FORMER_KEYS": json.dumps(kept),
    }


def in_a_file(key: Ed25519Signer, folder: Path) -> dict[str, str]:
    file = folder / "seed"
    file.write_text(b64encode(seed_of(key)).decode() + "\n")
    return {"BPC_SIGNING_KEY_ID": key.key_id, "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64_FILE": str(file)}


def by_program(key: Ed25519Signer, folder: Path, how: str, **options: object) -> dict[str, str]:
    seed = folder / "raw seed"
    seed.write_bytes(seed_of(key))
    argv = [sys.executable, "-I", signing_program.__file__, str(seed), how, str(folder / "told")]
    return {
        "BPC_SIGNING_KEY_ID": key.key_id,
        "BPC_SIGNING_PUBLIC_KEY": key.public_key.hex(),
        "BPC_SIGNING_COMMAND": json.dumps({"argv": argv, **options}),
    }


def register(path: Pipeline, key: Ed25519Signer) -> None:
    path.call(lambda pipeline: add_key(pipeline, key.key_id, key.public_key))


def change(path: Pipeline, key: Ed25519Signer, status: KeyStatus) -> None:
    path.call(lambda pipeline: change_key(pipeline, key.key_id, status))


def replayed(path: Pipeline, version: object) -> Replayed:
    return path.call(lambda pipeline: replay_version(pipeline, str(version)))


def built(path: Pipeline, folder: Path, settings: Mapping[str, object]) -> dict[str, object]:
    """A passport by a worker with these settings, to its end."""
    build = path.build(folder)
    with worker(path.db.url_as("bpc_worker"), **settings) as running:
        state = path.ended(build)
        assert state.state == "DONE", (state.errors, running.raw[-20:])
    return path.version(build)


@pytest.fixture
def path(db: Database) -> Pipeline:
    made = pipeline(db)
    register(made, OLD)
    return made


@pytest.mark.parametrize("way", ["environment", "file", "program", "program, in hex"])
def test_every_signer_makes_passports_that_replay(path: Pipeline, tmp_path: Path, way: str) -> None:
    settings = {
        "environment": in_environment(OLD),
        "file": in_a_file(OLD, tmp_path),
        "program": by_program(OLD, tmp_path, "honest"),
        "program, in hex": by_program(OLD, tmp_path, "in hex"),
    }[way]
    version = built(path, battery(tmp_path / "battery", "S-1"), settings)

    assert (version["signing_key_id"], version["public_key"]) == (OLD.key_id, OLD.public_key)
    assert replayed(path, version["passport_version_id"]).part is None


@pytest.mark.parametrize(
    ("how", "status", "code", "words"),
    [
        ("hangs", "DEAD_LETTER", "COMMAND_TIMEOUT", "did not end within 1 s"),
        ("crashes", "DEAD_LETTER", "COMMAND_FAILED", "was ended by SIGABRT"),
        ("gives up", "DEAD_LETTER", "COMMAND_FAILED", "ended with exit code 3"),
        ("floods", "DEAD_LETTER", "COMMAND_FAILED", "wrote more than 4096 bytes"),
        ("lies", "FAILED", "SIGNATURE_INVALID", "not a signature of public key"),
        ("signs something else", "FAILED", "SIGNATURE_INVALID", "not a signature of public key"),
    ],
)
def test_a_program_that_misbehaves_costs_attempts_and_signs_nothing(
    path: Pipeline, tmp_path: Path, how: str, status: str, code: str, words: str
) -> None:
    """Two attempts; a wrong signature is not asked for again. Then a good signer goes on from there."""
    path.build(battery(tmp_path / "battery", "S-1"))
    ill = by_program(OLD, tmp_path, how, timeout_seconds=1) | {
        "BPC_JOBS_MAX_ATTEMPTS_DEFAULT": "2",
        "BPC_JOBS_BACKOFF_BASE": "1",
    }
    with worker(path.db.url_as("bpc_worker"), **ill) as running:
        job = until(lambda: ended(path.db, "SIGN_PASSPORT"), within=60, what="the end of SIGN_PASSPORT")
        largest = peak_memory(running.pid)
        running.stop()

    assert job is not None
    assert (job["status"], job["fail_code"]) == (status, code)
    assert words in str(job["fail_reason"])
    assert job["attempts"] == (2 if status == "DEAD_LETTER" else 1)
    assert largest < 300 * 2**20
    told = "".join(running.raw) + repr(job) + repr(path.db.run("SELECT data::text FROM job_events"))
    assert seed_of(OLD).hex() not in told
    assert path.db.one("SELECT status, signature FROM passport_versions") == {
        "status": "COMPILING",
        "signature": None,
    }

    path.db.run("UPDATE jobs SET status = 'QUEUED' WHERE job_id = %s", [job["job_id"]])
    with worker(path.db.url_as("bpc_worker"), **in_environment(OLD)):
        until(lambda: all_ended(path.db), within=60, what="the end of all jobs")
    version = path.db.one("SELECT passport_version_id FROM passport_versions")["passport_version_id"]
    assert replayed(path, version).part is None
    path.db.check_history()


def ended(db: Database, job_type: str) -> dict[str, object] | None:
    found = db.run(
        "SELECT job_id, status::text, attempts, fail_code, fail_reason, last_error::text FROM jobs"
        " WHERE type = %s AND status NOT IN ('QUEUED', 'RUNNING')",
        [job_type],
    )
    return found[0] if found else None


def all_ended(db: Database) -> bool:
    return not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')")


def peak_memory(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def test_keys_change_under_running_workers(path: Pipeline, tmp_path: Path) -> None:
    """Old receipts verify, new ones have the new key, and the old one signs what names it until the end."""
    before = built(path, battery(tmp_path / "1", "S-1"), in_environment(OLD))
    between = compiled_only(path, battery(tmp_path / "2", "S-2"))
    register(path, NEW)
    with pytest.raises(Exception, match="not signed yet"):
        change(path, OLD, KeyStatus.RETIRED)

    url = path.db.url_as("bpc_worker")
    with worker(url, **in_environment(OLD)) as old, worker(url, **in_environment(NEW, OLD)) as new:
        old.wait_ready()
        new.wait_ready()
        mixed = [path.build(battery(tmp_path / f"mixed-{n}", f"M-{n}")) for n in range(6)]
        assert path.ended(between).state == "DONE"
        assert {path.ended(build).state for build in mixed} == {"DONE"}
        old.stop()
        change(path, OLD, KeyStatus.RETIRED)
        after = path.build(battery(tmp_path / "3", "S-3"))
        assert path.ended(after).state == "DONE"

    assert {before["signing_key_id"], path.version(between)["signing_key_id"]} == {OLD.key_id}
    assert path.version(after)["signing_key_id"] == NEW.key_id
    assert {path.version(build)["signing_key_id"] for build in mixed} <= {OLD.key_id, NEW.key_id}
    for row in path.db.run("SELECT passport_version_id FROM passport_versions"):
        assert replayed(path, row["passport_version_id"]).part is None
    assert path.db.run("SELECT event_type FROM events WHERE aggregate_type = 'signing_key'") != []
    path.db.check_history()


def compiled_only(path: Pipeline, folder: Path) -> UUID:
    """A build whose receipt names the old key, and whose signature nobody has made yet."""
    path.db.run("SELECT bpc_pause('type', 'SIGN_PASSPORT', 'a test', NULL)")
    build = path.build(folder)
    with worker(path.db.url_as("bpc_worker"), **in_environment(OLD)):
        until(
            lambda: path.state(build).state == "SIGN",
            within=60,
            what="a receipt without signature",
            every=0.1,
        )
    path.db.run("SELECT bpc_resume('type', 'SIGN_PASSPORT')")
    return build


def test_a_revoked_key_takes_its_passports_along_and_signs_nothing_more(
    path: Pipeline, tmp_path: Path
) -> None:
    before = built(path, battery(tmp_path / "1", "S-1"), in_environment(OLD))
    between = compiled_only(path, battery(tmp_path / "2", "S-2"))
    change(path, OLD, KeyStatus.REVOKED)
    with worker(path.db.url_as("bpc_worker"), **in_environment(OLD)):
        stopped = path.ended(between)

    assert stopped.state == "STOPPED"
    refused = path.db.one(
        "SELECT status::text, fail_code, fail_reason FROM jobs"
        " WHERE type = 'SIGN_PASSPORT' AND status = 'FAILED'"
    )
    assert refused == {
        "status": "FAILED",
        "fail_code": "SIGNING_KEY_MISSING",
        "fail_reason": f"key {OLD.key_id!r} is revoked",
    }
    found = replayed(path, before["passport_version_id"])
    assert (found.part, found.message) == ("signature", f"key {OLD.key_id!r} is revoked")

    register(path, NEW)
    again = path.build(tmp_path / "2", again=True)
    with worker(path.db.url_as("bpc_worker"), **in_environment(NEW)):
        assert path.ended(again).state == "DONE"
    assert replayed(path, path.version(again)["passport_version_id"]).part is None


def test_a_worker_with_a_swapped_seed_signs_nothing(path: Pipeline, tmp_path: Path) -> None:
    """The name of a registered key over another seed: what it would sign would not verify."""
    swapped = in_environment(OLD) | {
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": b64encode(seed_of(NEW)).decode()
    }
    build = path.build(battery(tmp_path / "1", "S-1"))
    with worker(path.db.url_as("bpc_worker"), **swapped):
        assert path.ended(build).state == "STOPPED"
    job = ended(path.db, "SIGN_PASSPORT")

    assert job is not None
    assert (job["status"], job["fail_code"]) == ("FAILED", "SIGNING_KEY_MISSING")
    assert f"the registry has public key {OLD.public_key.hex()}" in str(job["fail_reason"])
