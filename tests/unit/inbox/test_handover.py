"""What a file becomes: a job with its bytes, a job with a copy, a build, or a refusal in words."""

from pathlib import Path

import pytest

from bpc_worker.jobs.errors import Code, Permanent, SchemaMismatch
from bpc_worker.jobs.model import Priority
from bpc_worker.testing import A_TENANT
from tests.support.memory_inbox import Bench

pytestmark = pytest.mark.virtual_time

BOM = "acme/BOM/bom.csv"
RECIPE = b"""
product: {name: Pack, identifier: P-1}
passport: SERIAL-1
rules: battery-core
law_date: 2027-02-18
documents: [{file: bom.csv, kind: BOM, mime_type: text/csv}]
"""


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "inbox")


async def test_a_small_document_travels_inside_its_job(bench: Bench) -> None:
    bench.put(BOM, b"a\n1\n")
    await bench.look()

    assert bench.blobs.kept == {(A_TENANT, bench.payload()["content_sha256"]): b"a\n1\n"}
    assert bench.payload()["external_ref"] == "bom.csv"
    assert bench.rows[0].priority == Priority.NORMAL


async def test_an_ending_can_mean_a_hurry(bench: Bench) -> None:
    bench.put("acme/PCF/pcf.json", b"{}")
    await bench.look()

    assert bench.rows[0].priority == Priority.HIGH


async def test_the_folder_says_what_its_files_are(bench: Bench) -> None:
    bench.put("acme/BOM/inbox.yaml", b"mime_type: text/csv\nnumber_format: 1.234,56\n")
    bench.put("acme/BOM/export")
    await bench.look()

    assert bench.payload()["mime_type"] == "text/csv"
    assert bench.payload()["number_format"] == "1.234,56"


async def test_an_empty_declaration_says_nothing(bench: Bench) -> None:
    bench.put("acme/BOM/inbox.yaml", b"")
    bench.put(BOM)
    await bench.look()

    assert bench.payload()["mime_type"] == "text/csv"


async def test_a_declaration_that_cannot_be_read_is_told_to_the_sender(bench: Bench) -> None:
    bench.put("acme/BOM/inbox.yaml", b"colour: blue")
    bench.put(BOM)
    await bench.look()

    said = bench.said(BOM)
    assert said["message"].startswith("acme/BOM/inbox.yaml: ")
    assert said["do"] == "mend acme/BOM/inbox.yaml, then put the file back"


async def test_a_tenant_whom_nobody_knows_is_told_how_to_be_known(bench: Bench) -> None:
    bench.put("nobody/BOM/bom.csv")
    await bench.look()

    said = bench.said("nobody/BOM/bom.csv")
    assert (said["code"], said["message"]) == ("NOT_FOUND", "no tenant 'nobody'")
    assert "bpc-worker tenant add nobody" in said["do"]


async def test_a_name_that_is_no_text_asks_no_database(bench: Bench) -> None:
    bench.queries.error = Permanent(Code.INTERNAL_ERROR, "nobody should ask")
    bench.put("ac\x07me/BOM/bom.csv")
    await bench.look()

    assert "characters that are no text" in bench.said("ac\x07me/BOM/bom.csv")["message"]


async def test_the_same_bytes_are_one_job_whatever_they_are_called(bench: Bench) -> None:
    bench.put(BOM)
    await bench.look()
    bench.put("acme/BOM/again.csv")  # another payload under the same key
    await bench.look()
    bench.put(BOM)  # the very same
    await bench.look()

    assert len(bench.rows) == 1
    assert len(bench.files("done")) == 3
    assert bench.files("rejected") == set()


@pytest.mark.parametrize("name", ["bom.csv", "again.csv"])
async def test_bytes_whose_job_failed_are_refused_with_its_number(bench: Bench, name: str) -> None:
    bench.put(BOM)
    await bench.look()
    await bench.end(badly=True)
    bench.put(f"acme/BOM/{name}")
    await bench.look()

    said = bench.said(f"acme/BOM/{name}")
    assert said["code"] == "IDEMPOTENCY_CONFLICT"
    assert f"their job {bench.rows[0].job_id} is FAILED" in said["message"]


async def test_known_bytes_whose_job_was_pruned_meanwhile_are_done(bench: Bench) -> None:
    bench.queue.error = Permanent(Code.IDEMPOTENCY_CONFLICT, "the key is taken")
    bench.put(BOM)
    await bench.look()

    assert bench.files("done") == {BOM}


async def test_what_the_queue_refuses_is_told_to_the_sender(bench: Bench) -> None:
    bench.queue.error = Permanent(Code.VALIDATION_ERROR, "no such thing")
    bench.put(BOM)
    await bench.look()

    assert bench.said(BOM)["message"] == "no such thing"


async def test_a_folder_with_a_recipe_is_a_build(bench: Bench) -> None:
    bench.put("acme/pack/passport.yaml", RECIPE)
    bench.put("acme/pack/bom.csv", b"a\n1\n")
    await bench.look()

    [(tenant, folder)] = bench.builds
    assert tenant == "acme"
    assert [each.content for each in folder.documents] == [b"a\n1\n"]
    assert bench.heard == ["produced builds INGEST_DOCUMENT", "tell"]
    assert bench.files() == {"done/acme/pack/passport.yaml", "done/acme/pack/bom.csv"}


async def test_what_is_wrong_with_a_build_is_said_in_the_senders_words(bench: Bench) -> None:
    bench.put("acme/pack/passport.yaml", b"passport: 1")
    await bench.look()

    said = bench.said("acme/pack")
    assert said["message"].startswith("acme/pack/passport.yaml: ")
    assert ".taking" not in said["message"]


async def test_a_login_that_may_not_build_goes_on_with_documents(bench: Bench) -> None:
    bench.build_error = SchemaMismatch("42501", "permission denied")
    bench.put("acme/pack/passport.yaml", RECIPE)
    bench.put("acme/pack/bom.csv")
    bench.put(BOM)
    await bench.look(3)

    assert len(bench.rows) == 1
    assert bench.files("rejected") == set()
    assert bench.files(".taking") == {"acme/pack/passport.yaml", "acme/pack/bom.csv"}
