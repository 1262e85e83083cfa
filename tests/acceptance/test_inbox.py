"""The producer as a process: what lies in the inbox becomes jobs, and nothing else happens to it."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from bpc_worker.core.base.hashing import sha256
from tests.support.database import Database
from tests.support.inbox import PRODUCER, TestInbox
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.worker import Worker, command, until, worker


@pytest.fixture
def inbox(tmp_path: Path, db: Database) -> TestInbox:
    db.tenant("acme")
    root = tmp_path / "inbox"
    root.mkdir()
    return TestInbox(root, db)


def produced(producer: Worker) -> float:
    return producer.metric("bpc_jobs_produced_total", type="INGEST_DOCUMENT", queue="default")


def test_a_document_becomes_a_job_and_moves_to_done(inbox: TestInbox) -> None:
    inbox.put("acme/BOM/bom.csv", b"part,mass\n1,2\n")
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings) as producer:
        inbox.wait_for("done/acme/BOM/bom.csv")

        [job] = inbox.jobs()
        assert job["payload"] == {
            "kind": "BOM",
            "mime_type": "text/csv",
            "external_ref": "bom.csv",
            "number_format": None,
            "mapping": None,
            "content_sha256": sha256(b"part,mass\n1,2\n").hex(),
        }
        assert (job["status"], job["priority"]) == ("QUEUED", 2)
        assert produced(producer) == 1
        assert producer.get("/v1/health/ready")[0] == 200
        assert producer.stop(within=10) == 0
    assert inbox.waiting() == set()


def test_what_is_configured_and_declared_is_in_the_job(inbox: TestInbox) -> None:
    inbox.put("acme/PCF/inbox.yaml", b"{number_format: '1.234,56', mime_type: application/csv}")
    inbox.put("acme/PCF/pcf.txt")
    inbox.put("acme/PCF/pcf.json")
    inbox.put("acme/PCF/notes.md")
    settings = inbox.settings | {
        "BPC_PRODUCER_HIGH_PRIORITY_EXTS": "json",
        "BPC_PRODUCER_DEFAULT_PRIORITY": "low",
        "BPC_PRODUCER_EXCLUDE_GLOBS": "*.md",
    }
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **settings):
        inbox.wait_for("done/acme/PCF/pcf.txt", "done/acme/PCF/pcf.json")

    found = inbox.db.run(
        "SELECT payload->>'number_format' AS f, payload->>'mime_type' AS m, priority FROM jobs"
    )
    # The same bytes with the same declaration are one document, whatever they are called.
    assert len(found) == 1
    assert (found[0]["f"], found[0]["m"]) == ("1.234,56", "application/csv")
    assert inbox.waiting() == {"acme/PCF/inbox.yaml", "acme/PCF/notes.md"}


def test_known_bytes_are_not_ingested_again(inbox: TestInbox) -> None:
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings) as producer:
        inbox.put("acme/BOM/bom.csv", b"one")
        inbox.wait_for("done/acme/BOM/bom.csv")
        inbox.put("acme/BOM/other-name.csv", b"one")
        inbox.wait_for("done/acme/BOM/other-name.csv")
        inbox.put("acme/BOM/bom.csv", b"two")
        until(lambda: len(inbox.files("done")) == 3, within=20)

        assert produced(producer) == 2
        assert producer.said("inbox_known")
    assert len(inbox.jobs()) == 2


def test_the_same_bytes_of_another_tenant_are_another_document(inbox: TestInbox) -> None:
    other = inbox.db.tenant("beta")
    inbox.put("acme/BOM/bom.csv")
    inbox.put(f"{other}/BOM/bom.csv")
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings):
        inbox.wait_for("done/acme/BOM/bom.csv", f"done/{other}/BOM/bom.csv")

    assert len({job["tenant_id"] for job in inbox.jobs()}) == 2


def test_bytes_whose_job_failed_come_back_with_its_name(inbox: TestInbox) -> None:
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings):
        inbox.put("acme/BOM/bom.csv")
        inbox.wait_for("done/acme/BOM/bom.csv")
        inbox.db.run("UPDATE jobs SET status = 'CANCELLED'")
        inbox.put("acme/BOM/again.csv")
        said = inbox.said("acme/BOM/again.csv")

    assert str(inbox.jobs()[0]["job_id"]) in said["message"]
    assert "CANCELLED" in said["message"]


REFUSED = [
    ("bom.csv", "TENANT/KIND", "TENANT/BOM"),
    ("acme/bom.csv", "TENANT/KIND", "TENANT/BOM"),
    ("nobody/BOM/bom.csv", "no tenant 'nobody'", "bpc-worker tenant add nobody"),
    ("acme/BOM/bom.pdf", "does not tell what it is", "acme/BOM/inbox.yaml"),
    ("acme/BOM/bom", "does not tell what it is", "acme/BOM/inbox.yaml"),
]


def test_what_cannot_be_understood_is_rejected_with_what_to_do(inbox: TestInbox) -> None:
    for place, _, _ in REFUSED:
        inbox.put(place)
    inbox.put("acme/OTHER/large.json", b"x" * 2000)
    (inbox.root / "acme/OTHER/link.json").symlink_to("/etc/hostname")
    os.mkfifo(inbox.root / "acme/OTHER/pipe.json")
    inbox.put("acme/PCF/inbox.yaml", b"mime-type: text/csv")
    inbox.put("acme/PCF/pcf.csv")
    inbox.put("acme/BOM/good.csv")
    settings = inbox.settings | {"BPC_LIMITS_DOCUMENT_BYTES": 1000}
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **settings):
        for place, why, do in REFUSED:
            said = inbox.said(place)
            assert why in said["message"]
            assert do in said["do"]
            assert said["file"] == place
        assert inbox.said("acme/OTHER/large.json")["code"] == "PAYLOAD_TOO_LARGE"
        assert "symbolic link" in inbox.said("acme/OTHER/link.json")["message"]
        assert "regular file" in inbox.said("acme/OTHER/pipe.json")["message"]
        assert "mime-type" in inbox.said("acme/PCF/pcf.csv")["message"]
        inbox.wait_for("done/acme/BOM/good.csv")

    assert len(inbox.jobs()) == 1
    assert inbox.waiting() == {"acme/PCF/inbox.yaml"}


def test_a_name_that_is_no_text_is_rejected(inbox: TestInbox) -> None:
    folder = inbox.root / "acme/BOM"
    folder.mkdir(parents=True)
    for name in (b"a\nb.csv", b"\xff.csv", b"x" * 251 + b".csv"):
        (folder / os.fsdecode(name)).write_text("a")
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings):
        until(lambda: len(inbox.files("rejected")) == 4 and len(inbox.files("done")) == 1, within=20)

    assert inbox.waiting() == set()


def test_a_file_is_left_until_it_stands_still(inbox: TestInbox) -> None:
    path = inbox.put("acme/BOM/bom.csv", b"beginning")
    with (
        path.open("ab") as writing,
        worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings) as producer,
    ):
        inbox.put("acme/BOM/other.csv", b"other")
        inbox.wait_for("done/acme/BOM/other.csv")
        until(lambda: producer.said("inbox_file_changes"), within=20)
        writing.write(b" and end")
        writing.close()
        inbox.wait_for("done/acme/BOM/bom.csv")

    contents = inbox.db.run(
        "SELECT content FROM jobs JOIN blobs ON payload ->> 'content_sha256' = encode(sha256, 'hex')"
    )
    assert sorted(bytes(row["content"]) for row in contents) == [b"beginning and end", b"other"]  # type: ignore[call-overload]


def test_a_large_document_reaches_a_worker(inbox: TestInbox) -> None:
    large = b'{"note": "' + b"x" * 3_100_000 + b'"}'
    inbox.put("acme/OTHER/large.json", large)
    with worker(inbox.db.url_as("bpc_worker"), **inbox.settings):
        until(lambda: inbox.db.run("SELECT FROM document_versions WHERE status = 'REJECTED'"), within=30)

    version = inbox.db.one(
        "SELECT content, external_ref FROM document_versions"
        " JOIN documents USING (document_id) JOIN blobs USING (sha256)"
    )
    assert (version["content"], version["external_ref"]) == (large, "large.json")
    assert inbox.files("done") == {"acme/OTHER/large.json"}


def test_a_folder_with_a_passport_yaml_is_a_build(inbox: TestInbox) -> None:
    pipeline(inbox.db)
    shutil.copytree(EXAMPLE, inbox.root / "acme/my-battery")
    with worker(inbox.db.url_as("bpc_app"), *PRODUCER, **inbox.settings) as producer:
        inbox.wait_for("done/acme/my-battery/passport.yaml")
        assert produced(producer) == 3
    assert [row["state"] for row in inbox.db.run("SELECT state FROM passport_builds")] == ["DOCUMENTS"]
    assert {job["type"] for job in inbox.jobs()} == {"INGEST_DOCUMENT"}


def test_a_build_that_is_not_complete_is_rejected_with_everything_wrong_with_it(inbox: TestInbox) -> None:
    pipeline(inbox.db)
    folder = inbox.root / "acme/my-battery"
    shutil.copytree(EXAMPLE, folder)
    (folder / "bom.csv").unlink()
    (folder / "pcf.json").unlink()
    with worker(inbox.db.url_as("bpc_app"), *PRODUCER, **inbox.settings):
        said = inbox.said("acme/my-battery")

    assert "bom.csv" in said["message"]
    assert "pcf.json" in said["message"]
    assert ".taking" not in said["message"]
    assert (inbox.root / "rejected/acme/my-battery/passport.yaml").exists()
    assert inbox.jobs() == []


def test_a_login_that_may_not_build_goes_on_with_documents(inbox: TestInbox) -> None:
    pipeline(inbox.db)
    shutil.copytree(EXAMPLE, inbox.root / "acme/my-battery")
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings) as producer:
        trouble = until(lambda: producer.said("inbox_trouble"), within=20)
        assert "bpc_app" in str(trouble)
        inbox.put("acme/BOM/bom.csv")
        inbox.wait_for("done/acme/BOM/bom.csv")
    with worker(inbox.db.url_as("bpc_app"), *PRODUCER, **inbox.settings):
        inbox.wait_for("done/acme/my-battery/passport.yaml")


def test_one_process_takes_a_folder_in_and_makes_a_passport_of_it(inbox: TestInbox) -> None:
    """Role all: producer, worker and reaper; its login is both a worker and of bpc_app."""
    pipeline(inbox.db)
    inbox.db.run(
        "DO $$ BEGIN CREATE ROLE bpc_all;"
        " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"
        " GRANT bpc_worker, bpc_app TO bpc_all"
    )
    shutil.copytree(EXAMPLE, inbox.root / "acme/my-battery")
    with worker(inbox.db.url_as("bpc_all"), **inbox.settings) as everything:
        until(lambda: inbox.db.run("SELECT FROM passport_builds WHERE state = 'DONE'"), within=60)
        assert everything.stop(within=30) == 0

    version = inbox.db.one("SELECT status, qr_payload FROM passport_versions")
    assert version["status"] == "SIGNED"
    assert version["qr_payload"]
    assert inbox.waiting() == set()


def test_several_producers_share_one_rate(inbox: TestInbox) -> None:
    """A second inbox, another process, the same key: together no faster than the rate and its burst."""
    second = TestInbox(inbox.root.parent / "second", inbox.db)
    for number in range(8):
        inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
        second.put(f"acme/PCF/{number}.csv", b"%d" % number)
    rate = {"BPC_PRODUCER_RATE_LIMIT_PER_SEC": 4, "BPC_PRODUCER_RATE_LIMIT_KEY": "shared"}
    url = inbox.db.url_as("bpc_producer")
    with (
        worker(url, *PRODUCER, **inbox.settings, **rate) as one,
        worker(url, *PRODUCER, **second.settings, **rate) as two,
    ):
        until(lambda: len(inbox.files("done") | second.files("done")) == 16, within=30)
        assert one.metric("bpc_rate_limited_total") + two.metric("bpc_rate_limited_total") > 0

    # By the database's clock: after the burst of four, a quarter of a second for every further one.
    row = inbox.db.one(
        "SELECT extract(epoch FROM max(created_at) - min(created_at))::float AS seconds FROM jobs"
    )
    assert float(str(row["seconds"])) > (16 - 4 - 1) / 4 - 0.1


def test_two_producers_on_one_inbox_ingest_each_file_once(inbox: TestInbox) -> None:
    for number in range(200):
        inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
    url, waits = inbox.db.url_as("bpc_producer"), "inbox_held_by_another_producer"
    with (
        worker(url, *PRODUCER, **inbox.settings) as one,
        worker(url, *PRODUCER, **inbox.settings) as two,
    ):
        until(lambda: inbox.files("done"), within=20)
        until(lambda: one.said(waits) or two.said(waits), within=20)
        busy, idle = (one, two) if one.said("inbox_held") else (two, one)
        busy.send(signal.SIGKILL)
        until(lambda: len(inbox.files("done")) == 200, within=30, what="the other one goes on")
        assert idle.exit_code is None

    assert len(inbox.jobs()) == 200
    assert inbox.waiting() == set()


def test_a_producer_that_is_told_to_stop_finishes_its_file_and_no_other(inbox: TestInbox) -> None:
    for number in range(1000):
        inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **inbox.settings) as producer:
        until(lambda: inbox.files("done"), within=20)
        assert producer.stop(within=10) == 0
    done, left = inbox.files("done"), inbox.waiting()

    assert left
    assert not any(place.startswith(".taking") for place in left)
    assert len(done) + len(left) == 1000
    assert len(inbox.jobs()) == len(done)


def test_the_role_needs_an_inbox(db: Database) -> None:
    done = command(db.url, "run", *PRODUCER)

    assert done.returncode == 2
    assert "BPC_PRODUCER_SCAN_DIR" in done.stderr


def test_an_inbox_that_is_not_there_yet_is_waited_for(inbox: TestInbox) -> None:
    settings = inbox.settings | {"BPC_PRODUCER_SCAN_DIR": inbox.root / "mounted-later"}
    with worker(inbox.db.url_as("bpc_producer"), *PRODUCER, **settings) as producer:
        until(lambda: producer.said("inbox_trouble"), within=20)
        (inbox.root / "mounted-later").mkdir()
        TestInbox(inbox.root / "mounted-later", inbox.db).put("acme/BOM/bom.csv")
        inbox.wait_for("mounted-later/done/acme/BOM/bom.csv")
