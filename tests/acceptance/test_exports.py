"""Passport versions as files: by a job into the export folder, by a command wherever somebody wants them."""

import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.exports import ended, enqueue_export, files_in, tenant_of, told
from tests.support.signed import Signed, clone, signed_passport
from tests.support.worker import Worker, command, worker


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        made.db.run("UPDATE passport_versions SET status = 'ACTIVE'")
        yield made


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@pytest.fixture
def running(signed: Signed, folder: Path) -> Iterator[Worker]:
    with worker(signed.db.url_as("bpc_worker"), BPC_EXPORT_FOLDER=folder) as made:
        yield made


@pytest.mark.usefixtures("running")
def test_a_job_and_a_command_write_the_same_files(signed: Signed, folder: Path, tmp_path: Path) -> None:
    by_hand = tmp_path / "by hand"
    by_hand.mkdir()
    for form in ("bundle", "view", "dpp", "label"):
        job = ended(signed.db, enqueue_export(signed, format=form, folder="2027/may"))
        assert job["status"] == "SUCCEEDED", job["last_error"]
        done = command(
            signed.db.url_as("bpc_app"), "passport", "export", str(signed.version), "--format", form,
            "--out", str(by_hand), "--tenant", "acme",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    below = f"{tenant_of(signed)}/2027/may"
    assert {Path(name).parent.as_posix() for name in files_in(folder)} == {below}
    assert files_in(folder / below) == files_in(by_hand)
    assert sorted(files_in(by_hand)) == [
        f"passport-{signed.version}{ending}"
        for ending in ("-public-active.dpp.json", "-public.sd-jwt", ".label.pdf", ".zip")
    ]


@pytest.mark.usefixtures("running")
def test_files_are_named_by_size_and_a_salted_name_in_results_and_events(
    signed: Signed, folder: Path
) -> None:
    job = ended(signed.db, enqueue_export(signed, format="dpp", audience="authorities"))
    written = files_in(folder / str(tenant_of(signed)))
    seed = signed.db.one("SELECT disclosure_seed FROM passport_versions")["disclosure_seed"]
    named = [
        {"name": name, "size": len(data), "content": hmac.digest(seed, b"\0export\0" + data, "sha256").hex()}  # type: ignore[arg-type]
        for name, data in written.items()
    ]

    result = job["result"]
    assert isinstance(result, dict)
    assert result["folder"] == str(tenant_of(signed))
    assert sorted(result["files"], key=lambda each: each["name"]) == [
        {"passport_version_id": str(signed.version)} | each
        for each in sorted(named, key=lambda each: str(each["name"]))
    ]
    [event] = told(signed.db)
    assert isinstance(event, dict)
    assert (event["format"], event["audience"]) == ("dpp", "authorities")
    assert event["passport_version_id"] == str(signed.version)
    assert sorted(event["files"], key=str) == sorted(named, key=str)


@pytest.mark.usefixtures("running")
def test_a_document_after_en_18223_shows_what_its_audience_may_see(signed: Signed, folder: Path) -> None:
    for audience in ("public", "authorities"):
        ended(signed.db, enqueue_export(signed, format="dpp", audience=audience))
    read = {
        audience: json.loads(data)
        for name, data in files_in(folder).items()
        for audience in ("public", "authorities")
        if name.endswith(f"-{audience}-active.dpp.json")
    }
    row = signed.db.one("SELECT unique_identifier FROM passports")
    told_at = signed.db.one("SELECT occurred_at FROM events WHERE event_type = 'PASSPORT_SIGNED'")

    public = read["public"]
    assert public["uniqueProductIdentifier"] == row["unique_identifier"]
    assert (public["dppStatus"], public["granularity"]) == ("active", "item")
    assert public["lastUpdate"] == told_at["occurred_at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # type: ignore[attr-defined]
    assert len(json.dumps(read["authorities"])) > len(json.dumps(public))


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("planted", ["the tenant's folder", "a folder below", "the file"])
def test_nothing_is_written_through_a_link(
    signed: Signed, folder: Path, tmp_path: Path, planted: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    own = folder / str(tenant_of(signed))
    if planted == "the tenant's folder":
        own.symlink_to(elsewhere)
    else:
        own.mkdir()
        name = "below" if planted == "a folder below" else f"passport-{signed.version}-public.sd-jwt"
        (own / name).symlink_to(elsewhere / ("" if planted == "a folder below" else "file"))

    of = {"folder": "below"} if planted == "a folder below" else {}
    job = ended(signed.db, enqueue_export(signed, **of))

    assert (job["status"], job["fail_code"], job["attempts"]) == ("FAILED", "FORBIDDEN", 1)
    assert [*elsewhere.iterdir()] == []
    assert told(signed.db) == []


@pytest.mark.usefixtures("running")
def test_what_cannot_be_exported_is_said_and_nothing_is_told(signed: Signed, folder: Path) -> None:
    signed.db.tenant("other")
    other = signed.db.one("SELECT tenant_id FROM tenants WHERE name = 'other'")["tenant_id"]
    nobody = enqueue_export(signed, passport_version_id=str(uuid4()))
    anothers = signed.db.one(
        "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'EXPORT_PASSPORT', %s) RETURNING job_id",
        [other, json.dumps({"format": "view", "passport_version_id": str(signed.version)})],
    )["job_id"]
    for_nobody = enqueue_export(signed, audience="everybody")
    found = [ended(signed.db, str(each)) for each in (nobody, anothers, for_nobody)]

    assert [job["fail_code"] for job in found] == ["NOT_FOUND", "NOT_FOUND", "VALIDATION_ERROR"]
    assert found[0]["fail_reason"] == found[1]["fail_reason"]
    assert (files_in(folder), told(signed.db)) == ({}, [])
