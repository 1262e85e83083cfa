"""The built wheel, installed in an empty environment outside the checkout, does the main job."""

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    with open_folder() as made:
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


def test_the_installed_wheel_plays_the_demo(wheel: Path, folder: Path) -> None:
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", f"{wheel}[demo]"], check=True, timeout=300
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PYTHON"))}
    done = subprocess.run(
        [str(folder / "env" / "bin" / "bpc-worker"), "demo"],
        cwd=folder, env=clean | {"BPC_DATA_DIR": str(folder / "data")},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "valid as issued: passport" in done.stdout
    assert {"bpc_worker/demo/examples/ev/passport.yaml"} <= set(zipfile.ZipFile(wheel).namelist())
