"""Tests without their published vectors do not pass for tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_summary_says_how_many_tests_want_the_published_vectors() -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PYTEST"))}
    words = [
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-k",
        "wycheproof",
        "tests/unit/core/base/test_signing.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        env=kept,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    assert (
        "NOT TESTED: 1 tests, because BPC_TEST_DATA does not name the folder with the published vectors and"
        " samples" in done.stdout
    )
