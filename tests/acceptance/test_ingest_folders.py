"""A worker reads a document from a folder of the job's own tenant, and from nobody else's."""

from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.worker import command


def ingest(db: Database, path: Path, tenant: str, folders: str) -> tuple[str, object]:
    """What becomes of a job of that tenant that names that path."""
    row = db.one(
        "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'INGEST_DOCUMENT', jsonb_build_object("
        " 'kind', 'OTHER', 'mime_type', 'application/json', 'external_ref', 'a.json', 'path', %s::text))"
        " RETURNING job_id",
        [db.tenant(tenant), str(path)],
    )
    ran = command(db.url_as("bpc_worker"), "once", BPC_INGEST_FOLDERS=folders)
    assert ran.returncode == 0, ran.stderr
    job = db.job(str(row["job_id"]))
    return str(job["status"]), job["fail_code"]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "acme" / "a.json"
    path.parent.mkdir()
    path.write_text('{"note": 1}')
    return path


@pytest.mark.parametrize("named", ["acme={acme}, other={other}", "{id}={acme}", "{acme}"])
def test_a_job_of_another_tenant_does_not_read_it(
    db: Database, document: Path, tmp_path: Path, named: str
) -> None:
    """Named by name, by id, or not at all where there are several tenants."""
    folders = named.format(acme=document.parent, other=tmp_path / "other", id=db.tenant())
    db.tenant("other")

    assert ingest(db, document, "other", folders) == ("FAILED", "FORBIDDEN")
    if "=" in named:
        assert ingest(db, document, "acme", folders) == ("SUCCEEDED", None)


def test_where_there_is_one_tenant_a_folder_needs_no_name(db: Database, document: Path) -> None:
    assert ingest(db, document, "acme", str(document.parent)) == ("SUCCEEDED", None)
