"""The demo, as somebody who has just cloned the project plays it."""

import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image

from tests.support.embedded import open_folder
from tests.support.worker import COMMAND, environment


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place where the server's account can reach its data."""
    with open_folder() as made:
        yield made


def bare(folder: Path, *arguments: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Without a database URL, in that folder."""
    kept = {name: value for name, value in environment("").items() if name != "BPC_DATABASE_URL"}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=where or folder, env=kept | {"BPC_DATA_DIR": str(folder / "data")},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip


def test_the_demo_makes_a_passport_that_anybody_can_check(folder: Path) -> None:
    done = bare(folder, "demo")
    stopped = bare(folder, "db", "stop")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "GENERATE_QR" in done.stdout
    assert "1 replayed, 0 differ" in done.stderr
    assert stopped.stdout == "it was not running\n"

    elsewhere = folder / "elsewhere"
    shutil.copytree(folder / "out", elsewhere / "out")
    [bundle] = (elsewhere / "out").glob("*.zip")
    bundle_keys = (str(bundle.relative_to(elsewhere)), "--keys", "out/keys.json")
    verified = bare(folder, "passport", "verify", *bundle_keys, where=elsewhere)
    assert verified.returncode == 0, verified.stderr
    assert "full, with the facts" in verified.stdout
    assert "complete for public" in done.stdout
    assert "The public view withholds" in done.stdout

    [code] = zxingcpp.read_barcodes(Image.open(elsewhere / "out" / "qr.png"))
    receipt = json.loads(zipfile.ZipFile(bundle).read("receipt.json"))
    assert code.text == receipt["unique_identifier"]

    cleaned = bare(folder, "demo", "--clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert "database and 4 files in out/ were removed" in cleaned.stderr
    assert not (folder / "out").exists()


def test_the_demo_survives_the_death_of_the_worker_that_compiles(folder: Path) -> None:
    done = bare(folder, "demo", "--chaos")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "dies in the middle of COMPILE_PASSPORT" in done.stdout
    again = [line.split() for line in done.stdout.splitlines() if "attempt 2" in line]
    assert again[-1][:2] == ["COMPILE_PASSPORT", "SUCCEEDED"]
