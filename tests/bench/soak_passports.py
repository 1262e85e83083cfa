"""Is the worker's memory flat over thousands of passports? `python -m tests.bench.soak_passports [how many]`.

A real worker makes them, each from documents of its own. Its resident memory and that of its children, in
MB, and its open files are read as it goes; the last fifth is compared with the second (the first warms up).
"""

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.pipeline.builds.folder import Document, Folder, read_folder
from bpc_worker.pipeline.builds.start import start_build
from bpc_worker.pipeline.session import open_pipeline
from tests.bench.soak import fifths, rss
from tests.support import database as databases
from tests.support.children import processes_below
from tests.support.database import Database
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.worker import Worker, worker

PASSPORTS = 3_000
AHEAD = 40  # builds that wait at any time
GOAL_RATIO = 1.1


def another(folder: Folder, number: int) -> Folder:
    """The example as another battery, with three documents that nobody has seen."""
    serial = f"SOAK-{number:06}"
    return Folder(
        replace(folder.recipe, passport=serial),
        tuple(_another(document, number, serial) for document in folder.documents),
    )


def _another(document: Document, number: int, serial: str) -> Document:
    assert document.content is not None
    text = document.content.decode()
    for old, new in (
        ("HLS-EV78-2028-000417", serial),
        ("Holzfaser AG", f"Holzfaser AG {number}"),
        ('"610.0"', f'"610.{number:06}"'),
    ):
        text = text.replace(old, new)
    return Document.of(document.entry, text.encode())


def megabytes(worker: Worker) -> tuple[float, float, int]:
    """Of the parent, of its children, and the parent's open files."""
    files = len(list(Path(f"/proc/{worker.pid}/fd").iterdir()))
    return rss(worker.pid), sum(map(rss, processes_below(worker.pid))), files


async def make(db: Database, running: Worker, count: int) -> list[tuple[int, float, float, int]]:
    """Samples: how many are done, and what the worker has by then."""
    example = read_folder(EXAMPLE, document_bytes=2**20)
    samples: list[tuple[int, float, float, int]] = []
    async with open_pipeline(config.load(env={}), registry.load(), db.url_as("bpc_app"), "acme") as pipeline:
        for number in range(count):
            await start_build(pipeline, another(example, number))
            while (waiting := undone(db)) > AHEAD:
                await asyncio.sleep(0.2)
            if number % (count // 30) == 0:
                samples.append((number - waiting, *megabytes(running)))
                done, parent, children, files = samples[-1]
                print(
                    f"{done:6} done, parent {parent:.1f} MB, children {children:.1f} MB, {files} files",
                    flush=True,
                )
        while undone(db):
            await asyncio.sleep(0.2)
    samples.append((count, *megabytes(running)))
    return samples


def undone(db: Database) -> int:
    return int(str(db.one("SELECT count(*) AS n FROM passport_builds WHERE state <> 'DONE'")["n"]))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PASSPORTS
    with databases.postgres() as server:
        databases.make_template(server)
        with databases.database(server) as db:
            pipeline(db)
            with worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info") as running:
                running.wait_ready()
                start = time.perf_counter()
                samples = asyncio.run(make(db, running, count))
                took = time.perf_counter() - start
    print(f"{count} passports in {took:.0f} s, {count / took:.1f} per second with their queueing")
    for name, at in (("parent", 1), ("children", 2), ("files", 3)):
        early, late = fifths([float(sample[at]) for sample in samples])
        verdict = "flat" if late <= GOAL_RATIO * early else "GROWS"
        print(f"{name:<9} second fifth {early:7.1f}  last fifth {late:7.1f}  {late / early:.3f}  {verdict}")


if __name__ == "__main__":
    main()
