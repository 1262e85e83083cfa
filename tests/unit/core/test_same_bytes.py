"""The same inputs make the same bytes, in whatever process, order, language, time zone and Python."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "support" / "repeat.py"
OTHER_PYTHONS = [f"python3.{minor}" for minor in range(11, 15) if minor != sys.version_info.minor]


def run(python: str, *arguments: str, variables: dict[str, str], options: tuple[str, ...] = ()) -> str:
    environment = {
        "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    } | variables  # fmt: skip
    done = subprocess.run(
        [python, *options, str(SCRIPT), *arguments],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def expected(*, qr: bool) -> str:
    plain = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    return run(sys.executable, *(["--qr"] if qr else []), variables=plain)


@pytest.mark.parametrize(
    ("arguments", "options", "variables"),
    [
        ((), (), {"PYTHONHASHSEED": "1"}),
        ((), ("-O",), {"PYTHONHASHSEED": "random"}),
        (("--shuffle", "1"), ("-OO",), {"PYTHONHASHSEED": "2"}),
        (("--shuffle", "2"), (), {"LC_ALL": "C", "TZ": "Pacific/Kiritimati"}),
        (("--shuffle", "3"), ("-X", "utf8=0"), {"LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"}),
        (("--decimal",), ("-X", "int_max_str_digits=640"), {"LC_NUMERIC": "de_DE.UTF-8"}),
    ],
    ids=["hash seed", "optimised", "shuffled", "far away", "Turkish", "a spoiled decimal context"],
)
def test_another_process_makes_the_same_bytes(
    arguments: tuple[str, ...], options: tuple[str, ...], variables: dict[str, str]
) -> None:
    found = run(sys.executable, "--qr", *arguments, options=options, variables=variables)

    assert found == expected(qr=True)


def test_the_core_opens_nothing_while_it_works() -> None:
    assert run(sys.executable, "--shut", variables={"PYTHONHASHSEED": "3"}) == expected(qr=False)


def interpreters(name: str) -> Iterator[dict[str, str]]:
    """How to start it: as it is, or through a shim that wants to be told a version."""
    yield {}
    if pyenv := shutil.which("pyenv"):
        listed = subprocess.run([pyenv, "whence", name], check=False, capture_output=True, text=True).stdout
        yield from ({"PYENV_VERSION": version} for version in listed.split())


def starts(path: str, variables: dict[str, str]) -> bool:
    done = subprocess.run([path, "-c", "pass"], env=os.environ | variables, check=False, capture_output=True)
    return done.returncode == 0


@pytest.mark.parametrize("name", OTHER_PYTHONS)
def test_another_python_makes_the_same_bytes(name: str) -> None:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name} on this machine")
    variables = next((each for each in interpreters(name) if starts(path, each)), None)
    if variables is None:
        pytest.skip(f"{name} is there but does not start")

    assert run(path, "--shuffle", "4", variables=variables) == expected(qr=False)
