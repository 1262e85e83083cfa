"""Vectors and samples that others published: not ours to ship, so a variable names the folder."""

import os
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "BPC_TEST_DATA"
SKIPPED: Final = f"{VARIABLE} does not name the folder with the published vectors and samples"


def published(*parts: str) -> Path:
    """A file or folder of them; without the variable the test is skipped, and the summary says so aloud."""
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(SKIPPED)
    found = Path(root, *parts)
    assert found.exists(), f"{VARIABLE} is set, but {found} is missing"
    return found
