"""Golden vectors: input, expected bytes and hash as files, made by make_vectors.py."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def load(name: str) -> Any:
    """The content of `<format>/<name>.json`."""
    return json.loads((FOLDER / f"{name}.json").read_bytes())
