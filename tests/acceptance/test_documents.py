"""Documents through a worker and the child that reads them: workbooks, mappings, bombs, what a name means."""

from collections.abc import Mapping

from bpc_worker.documents.mime_types import by_ending
from bpc_worker.pipeline.documents import (
    DocumentDetail,
    Upload,
    add_document,
    document_detail,
    document_facts,
    wait_for_document,
)
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.workbooks import number, rows, workbook
from tests.support.worker import worker

MAPPING = {"names": {"Kap. C3 (mAh)": "performance.rated_capacity_ah", "Note": "ignore"}, "sheets": ["Daten"]}
SHEET = rows(("Merkmal", "Wert", "Note"), ("Kap. C3 (mAh)", number("213000"), "neu"))
WORKBOOK = workbook({"Daten": SHEET, "Deckblatt": rows(("Hallo",))})
HEADER = b"part;material;mass_kg\n"
HOSTILE = {
    "bomb.xlsx": workbook({"D": "<worksheet>" + " " * 150_000_000 + "</worksheet>"}),
    "deep.xlsx": workbook({"D": "<a>" * 1_000_000}),
    "pdf.xlsx": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "pdf.csv": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "torn.xlsx": workbook({"D": SHEET})[:-200],
}


async def sent(
    pipeline: PipelineSession,
    name: str,
    content: bytes,
    kind: str,
    mapping: Mapping[str, object] | None = None,
) -> DocumentDetail:
    """What waiting for it tells."""
    upload = Upload(
        content=content, kind=kind, mime_type=by_ending(name) or "", external_ref=name, mapping=mapping
    )
    job = await add_document(pipeline, upload)
    found = (await wait_for_document(pipeline, job, upload, seconds=60)).document
    assert found is not None
    return found


def test_a_workbook_is_read_with_its_mapping(db: Database) -> None:
    db.tenant()

    async def act(pipeline: PipelineSession) -> None:
        plain = await sent(pipeline, "data.xlsx", WORKBOOK, "DATA_SHEET")
        mapped = await sent(pipeline, "data.xlsx", WORKBOOK, "DATA_SHEET", MAPPING)
        [fact] = await document_facts(pipeline, str(mapped.document_version_id))

        assert (plain.status, mapped.status) == ("REJECTED", "VALIDATED")
        assert (fact.fact_key, fact.canonical) == ("performance.rated_capacity_ah", b'{"value":"213.000"}')
        assert fact.pointer == "Daten!B2"
        # The same bytes with another declaration are another version: what is told is of the one given.
        assert await sent(pipeline, "data.xlsx", WORKBOOK, "DATA_SHEET") == plain

    with worker(db.url_as("bpc_worker")):
        Pipeline(db).call(act)


def test_a_name_means_the_version_that_was_sent_last(db: Database) -> None:
    db.tenant()

    async def act(pipeline: PipelineSession) -> None:
        async def named(name: str) -> object:
            return (await document_detail(pipeline, name)).document_version_id

        first = await sent(pipeline, "bom.csv", HEADER + b"frame;steel;1\n", "BOM")
        second = await sent(pipeline, "bom.csv", HEADER + b"frame;steel;2\n", "BOM")
        assert await named("bom.csv") == second.document_version_id
        again = await sent(pipeline, "bom.csv", HEADER + b"frame;steel;1\n", "BOM")
        other = await sent(pipeline, "other.csv", HEADER + b"frame;steel;2\n", "BOM")

        assert again == first
        assert await named("bom.csv") == first.document_version_id
        assert (other.external_ref, other.document_version_id) == ("other.csv", second.document_version_id)
        assert await named("other.csv") == second.document_version_id
        broken = await sent(pipeline, "bom.csv", HEADER, "BOM")
        await sent(pipeline, "bom.csv", HEADER + b"frame;steel;1\n", "BOM")
        await sent(pipeline, "bom.csv", HEADER, "BOM")
        assert await named("bom.csv") == broken.document_version_id

    with worker(db.url_as("bpc_worker")):
        Pipeline(db).call(act)
    db.check_history()


def test_bombs_and_lies_are_rejected_documents(db: Database) -> None:
    db.tenant()

    async def act(pipeline: PipelineSession) -> list[str]:
        return [
            (await sent(pipeline, name, content, "DATA_SHEET")).status for name, content in HOSTILE.items()
        ]

    with worker(db.url_as("bpc_worker")):
        assert set(Pipeline(db).call(act)) == {"REJECTED"}
    parsed = db.run("SELECT DISTINCT status, attempts FROM jobs WHERE type = 'PARSE_FACTS'")
    assert parsed == [{"status": "FAILED", "attempts": 1}]
