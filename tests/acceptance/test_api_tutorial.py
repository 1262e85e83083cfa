"""The tutorial of docs/api.md, run word for word: what the page shows works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.database import Database
from tests.support.manufacturer import EV, SCOPES, town
from tests.support.serving import serving, token
from tests.support.worker import command, worker

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_what_the_page_shows_works(db: Database, tmp_path: Path) -> None:
    town(db)
    folder = tmp_path / "battery"
    shutil.copytree(EV, folder)
    blocks = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    assert [language for language, _ in blocks] == ["sh", "python"]
    with (
        worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100),
        serving(db.url_as("bpc_web"), "api") as running,
    ):
        told = {
            "API": f"http://127.0.0.1:{running.door_port('api')}",
            "TOKEN": token(db, *SCOPES, tenant=str(db.tenant("acme"))),
        }
        for language, text in blocks:
            program = ["bash", "-eu", "-c"] if language == "sh" else [sys.executable, "-W", "error", "-c"]
            done = subprocess.run(
                [*program, text],
                cwd=folder,
                env=os.environ | told,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((folder / "document.json").read_text())["document"]["status"] == "VALIDATED"
    assert (folder / "code.svg").read_bytes().startswith(b"<svg")
    assert "PASSPORT_ACTIVATED" in done.stdout
    exported = command(db.url_as("bpc_app"), "keys", "export", "--tenant", "acme")
    (folder / "keys.json").write_text(exported.stdout)
    checked = command(
        db.url, "passport", "verify", str(folder / "passport.zip"), "--keys", str(folder / "keys.json")
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
