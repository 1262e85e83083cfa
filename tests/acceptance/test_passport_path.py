"""Documents in, signed passport out: the whole path on a real worker."""

from pathlib import Path

from bpc_worker.core.qr_text import parse as parse_qr
from tests.support.database import Database
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.worker import worker


def test_a_folder_of_documents_becomes_a_signed_passport_with_its_code(db: Database) -> None:
    path = pipeline(db)
    build = path.build()
    with worker(db.url_as("bpc_worker")):
        state = path.ended(build)
    assert (state.state, state.errors) == ("DONE", None)
    version = path.version(build)
    assert version["status"] == "SIGNED"
    assert version["qr_payload"] is not None
    assert str(parse_qr(str(version["qr_payload"])).passport_version_id) == str(state.passport_version_id)
    db.check_history()


def test_the_same_folder_again_is_the_same_passport(db: Database) -> None:
    path = pipeline(db)
    with worker(db.url_as("bpc_worker")):
        build = path.build()
        path.ended(build)
        assert path.build() == build
        another = path.build(again=True)
        assert another != build
        assert path.ended(another).state == "DONE"
    assert path.version(another)["passport_version_id"] != path.version(build)["passport_version_id"]
    assert path.version(another)["payload"] == path.version(build)["payload"]


def test_a_rejected_document_stops_the_build_and_a_replaced_one_goes_on(db: Database, tmp_path: Path) -> None:
    path = pipeline(db)
    for file in EXAMPLE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    good = (tmp_path / "bom.csv").read_text()
    (tmp_path / "bom.csv").write_text(good.replace("49,250", "forty-nine"))
    with worker(db.url_as("bpc_worker")):
        build = path.build(tmp_path)
        stopped = path.ended(build)
        assert stopped.state == "STOPPED"
        assert stopped.errors is not None
        assert stopped.errors[0]["document"] == "bom.csv"
        assert "line 2" in str(stopped.errors[0]["where"])
        (tmp_path / "bom.csv").write_text(good)
        assert path.build(tmp_path) == build
        assert path.ended(build).state == "DONE"
    db.check_history()
