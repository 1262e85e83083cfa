"""`build list` and `build show`: where each stands, and what stopped it."""

import json
from pathlib import Path

from tests.support.database import Database
from tests.support.pipeline import battery, pipeline
from tests.support.worker import command, worker


def test_a_build_that_was_stopped_shows_where_and_the_one_that_is_done_its_jobs(
    db: Database, tmp_path: Path
) -> None:
    path = pipeline(db)
    broken = battery(tmp_path / "broken", "SN-BROKEN")
    (broken / "bom.csv").write_text("component,mass\nx,not a number\n")
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        stopped, done = path.build(broken), path.build()
        assert path.ended(stopped).state == "STOPPED"
        assert path.ended(done).state == "DONE"

    url = db.url_as("bpc_app")
    listed = command(url, "build", "list", "--tenant", "acme", "--json")
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    assert [(row["build_id"], row["state"]) for row in rows] == [
        (str(done), "DONE"), (str(stopped), "STOPPED"),
    ]  # fmt: skip
    only = command(url, "build", "list", "--state", "STOPPED", "--tenant", "acme").stdout
    assert str(stopped) in only
    assert str(done) not in only

    shown = command(url, "build", "show", str(stopped), "--tenant", "acme")
    assert "DOCUMENTS  stopped" in shown.stdout
    assert "bom.csv  BOM  REJECTED" in shown.stdout
    assert "goes on" in shown.stderr
    stages = json.loads(command(url, "build", "show", str(done), "--tenant", "acme", "--json").stdout)[
        "stages"
    ]
    assert {stage["state"] for stage in stages} == {"done"}
    assert [len(stage["jobs"]) for stage in stages] == [6, 1, 1, 1, 1]
    nobody = command(url, "build", "show", "0198c0de-0000-7000-8000-000000000000", "--tenant", "acme")
    assert nobody.returncode == 3
