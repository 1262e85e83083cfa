"""The built wheel, installed in an empty environment outside the checkout, does the main job."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image

from tests.support.embedded import open_folder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], cwd=ROOT, check=True
    )
    [built] = target.glob("*.whl")
    return built


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder(in_memory=True) as made:
        yield made


def test_the_wheel_has_every_sql_file_rule_module_and_both_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sql = {f"bpc_worker/_sql/{path.relative_to(ROOT / 'sql')}" for path in (ROOT / "sql").rglob("*.sql")}
    rules = {str(path.relative_to(ROOT)) for path in (ROOT / "bpc_worker").rglob("*.rules")}

    assert len(sql) > 10
    assert sql <= names
    assert "bpc_worker/files/rule_packages/battery_core.rules" in rules <= names
    assert {"handlers/run_command.py", "bpc_worker/py.typed", "handlers/py.typed"} <= names
    assert not [name for name in names if name.startswith("tests/")]


@pytest.fixture
def installed(wheel: Path, folder: Path) -> Path:
    """The command, in an environment that has nothing else."""
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / "bin"
    subprocess.run(
        [str(programs / "python"), "-m", "pip", "install", "--quiet", f"{wheel}[demo]"],
        check=True, timeout=300,
    )  # fmt: skip
    return programs / "bpc-worker"


def test_the_installed_wheel_plays_the_demo_and_anybody_can_check_its_passport(
    installed: Path, wheel: Path, folder: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PYTHON"))}

    def bare(*arguments: str, where: Path = folder) -> subprocess.CompletedProcess[str]:
        """Without a database URL, in that folder."""
        return subprocess.run(
            [str(installed), *arguments],
            cwd=where, env=clean | {"BPC_DATA_DIR": str(folder / "data")},
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip

    done = bare("demo")
    stopped = bare("db", "stop")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "GENERATE_QR" in done.stdout
    assert "valid as issued: passport" in done.stdout
    assert "1 replayed, 0 differ" in done.stderr
    assert stopped.stdout == "it was not running\n"
    assert {"bpc_worker/demo/examples/ev/passport.yaml"} <= set(zipfile.ZipFile(wheel).namelist())

    elsewhere = folder / "elsewhere"
    shutil.copytree(folder / "out", elsewhere / "out")
    [bundle] = (elsewhere / "out").glob("*.zip")
    bundle_keys = (str(bundle.relative_to(elsewhere)), "--keys", "out/keys.json")
    verified = bare("passport", "verify", *bundle_keys, where=elsewhere)
    assert verified.returncode == 0, verified.stderr
    assert "full, with the facts" in verified.stdout
    assert "complete for public" in done.stdout
    assert "The public view withholds" in done.stdout
    assert "bpc-worker serve --doors public" in done.stdout

    [code] = zxingcpp.read_barcodes(Image.open(elsewhere / "out" / "qr.png"))
    receipt = json.loads(zipfile.ZipFile(bundle).read("receipt.json"))
    assert code.text == receipt["unique_identifier"]

    cleaned = bare("demo", "--clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert "database and 4 files in out/ were removed" in cleaned.stderr
    assert not (folder / "out").exists()
