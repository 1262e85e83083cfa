"""An inbox in a folder of its own, and what became of what was put there."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.database import Database
from tests.support.worker import until

QUICK = 0.1  # seconds between two looks
PRODUCER = ("--role", "producer")


@dataclass(frozen=True)
class TestInbox:
    __test__ = False

    root: Path
    db: Database

    @property
    def settings(self) -> dict[str, object]:
        return {"BPC_PRODUCER_SCAN_DIR": self.root, "BPC_PRODUCER_SCAN_INTERVAL_SECONDS": QUICK}

    def put(self, place: str, content: bytes = b"a,b\n1,2\n") -> Path:
        """As a careful sender does: under another name first."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.parent / ".unfinished"
        unfinished.write_bytes(content)
        return unfinished.rename(path)

    def files(self, folder: str) -> set[str]:
        """Everything in done/, rejected/, … by its place."""
        return set(_files(self.root / folder))

    def wait_for(self, *places: str, within: float = 20) -> None:
        until(lambda: all((self.root / place).exists() for place in places), within=within, what=str(places))

    def said(self, place: str) -> dict[str, str]:
        """What the error file of something rejected says."""
        path = self.root / f"rejected/{place}.error.json"
        until(path.exists, within=20, what=str(path))
        found: dict[str, str] = json.loads(path.read_text())
        return found

    def jobs(self) -> list[dict[str, object]]:
        return self.db.run("SELECT * FROM jobs ORDER BY job_id")

    def waiting(self) -> set[str]:
        """What still lies in the inbox, taken or not; true only while no producer is at work."""
        reserved = ("done/", "rejected/", ".lock")
        return {place for place in _files(self.root) if not place.startswith(reserved)}


def _files(root: Path) -> Iterator[str]:
    """Folders come and go meanwhile, which os.walk takes calmly."""
    for folder, _, names in os.walk(root):
        for name in names:
            yield str((Path(folder) / name).relative_to(root))
