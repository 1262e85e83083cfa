"""Memory of a worker while one job exports many versions: flat, however many there are.

`python -m tests.bench.export_memory [how many] [format]`

The versions are of one battery, issued second after second, compiled, signed and drawn by the worker itself.
Then a fresh worker exports all of them in one job; its memory is looked at on the way.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support import database as databases
from tests.support.exports import files_in, told
from tests.support.signed import Signed, signed_passport
from tests.support.worker import Worker, until, worker

VERSIONS = 1000
LOOKS = 10
FLAT = 1.15  # of the memory after the first tenth
FIRST = datetime(2027, 3, 1, tzinfo=UTC)


def make_versions(signed: Signed, count: int) -> list[str]:
    """As many in all; their ids."""
    made = signed.db.one("SELECT * FROM passport_versions")
    for number in range(count - 1):
        payload = {
            "passport_id": str(made["passport_id"]),
            "snapshot_id": str(made["snapshot_id"]),
            "rule_package_version_id": str(made["rule_package_version_id"]),
            "law_date": str(made["law_date"]),
            "issued_at": (FIRST + timedelta(seconds=number)).isoformat(),
        }
        signed.db.enqueue("COMPILE_PASSPORT", json.dumps(payload))
    drawn = "SELECT count(*) AS n FROM passport_versions WHERE qr_png IS NOT NULL"
    with worker(signed.db.url_as("bpc_worker"), BPC_LOG_LEVEL="warning"):
        until(lambda: signed.db.one(drawn)["n"] == count, within=3600, what="all versions", every=1)
    return [
        str(row["passport_version_id"])
        for row in signed.db.run("SELECT passport_version_id FROM passport_versions")
    ]


def resident(pid: int) -> int:
    """KiB of memory that the process has now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def looks(signed: Signed, job_id: str, running: Worker, count: int) -> Iterator[tuple[int, int]]:
    """How many were done, and the worker's memory then; about a tenth of the way between two looks."""
    seen = 0
    while True:
        job = signed.db.job(job_id)
        if job["status"] not in {"QUEUED", "RUNNING"}:
            assert job["status"] == "SUCCEEDED", job["last_error"]
            yield count, resident(running.pid)
            return
        progress = job["progress"]
        done = int(progress["done"]) if isinstance(progress, dict) else 0
        if done >= seen + count // LOOKS:
            seen = done
            yield done, resident(running.pid)
        time.sleep(0.2)


def measure(signed: Signed, count: int, form: str, folder: Path) -> list[tuple[int, int]]:
    versions = make_versions(signed, count)
    settings = {"BPC_EXPORT_FOLDER": folder, "BPC_LOG_LEVEL": "info", "BPC_JOBS_LEASE_RENEW_SECONDS": 1}
    with worker(signed.db.url_as("bpc_worker"), **settings) as running:
        running.wait_ready()
        payload = {"format": form, "passport_version_ids": versions}
        job_id = signed.db.enqueue("EXPORT_PASSPORT", json.dumps(payload))
        began = time.monotonic()
        found = list(looks(signed, job_id, running, count))
    print(f"{count} in the format {form} in {time.monotonic() - began:.0f} s")
    files = 2 * count if form == "dpp" else count  # the view lies beside it
    assert (len(files_in(folder)), len(told(signed.db))) == (files, count)
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else VERSIONS
    form = sys.argv[2] if len(sys.argv) > 2 else "view"
    with databases.postgres(in_memory=True) as server, tempfile.TemporaryDirectory() as folder:
        databases.make_template(server)
        with signed_passport(server) as signed:
            found = measure(signed, count, form, Path(folder))
    print("exported  worker MiB")
    for done, kib in found:
        print(f"{done:8d}  {kib / 1024:10.1f}")
    growth = found[-1][1] / found[0][1]
    print(f"the last is {growth:.2f} of the first; flat is up to {FLAT}")
    sys.exit(growth > FLAT)


if __name__ == "__main__":
    main()
