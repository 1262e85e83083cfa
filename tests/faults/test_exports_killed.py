"""An export whose worker is killed before, in and after its transaction: the same files, one event."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.chains import check_chains
from tests.support.exports import ended, enqueue_export, files_in, told
from tests.support.kills import MOMENTS, ONE_AT_A_TIME, kill_worker
from tests.support.signed import Signed, clone, signed_passport
from tests.support.worker import worker

CLEAN, KILLED = "clean", "killed"


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


def exported(signed: Signed, folder: Path, form: str, moment: str | None = None) -> tuple[object, ...]:
    folder.mkdir()
    settings = {"BPC_EXPORT_FOLDER": str(folder)}
    job_id = enqueue_export(signed, format=form)
    if moment is not None:
        kill_worker(signed.db, moment, 1, **settings)
    with worker(signed.db.url_as("bpc_worker"), **ONE_AT_A_TIME, **settings):
        job = ended(signed.db, job_id)
    signed.db.check_history()
    check_chains(signed.db)
    return files_in(folder), told(signed.db), job["status"], job["result"]


@pytest.mark.parametrize("form", ["bundle", "dpp"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_files_of_a_killed_export_are_those_of_a_clean_one(
    original: Signed, tmp_path: Path, moment: str, form: str
) -> None:
    with clone(original) as one:
        clean = exported(one, tmp_path / CLEAN, form)
    with clone(original) as other:
        killed = exported(other, tmp_path / KILLED, form, moment)

    assert killed == clean
    files, events, status, _ = killed
    assert (len(files), len(events), status) == (1 if form == "bundle" else 2, 1, "SUCCEEDED")  # type: ignore[arg-type]
