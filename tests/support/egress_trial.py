"""A real worker among receivers that drip, hang, flood and lie beside good ones: how long, how much?"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext

from tests.support.certificates import Authority
from tests.support.database import Database
from tests.support.hostile_town import hostile_town
from tests.support.receivers import good, listening
from tests.support.worker import Worker, until, worker

HOST = "127.0.0.1"
Queue = Callable[[str], str]  # a URL in, a job out


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    longest_attempt: float
    grown_mib: float
    good_start_p95: float  # seconds from queued to claimed
    good_end_p95: float  # and to the end
    ends: dict[str, set[str]]  # by kind of receiver: how its jobs ended


def try_out(
    db: Database, folder: Path, queue: Queue, *, of_each: int, good_jobs: int, **settings: object
) -> Figures:
    """`queue` makes a job of one attempt that posts to a URL."""
    authority = Authority(folder)
    with hostile_town(authority, HOST) as ports, good_place(authority.server(HOST)) as fine:
        told = reaching(authority, fine, *ports.values())
        with worker(db.url, **told, **settings) as running:
            warm = [queue(f"https://{HOST}:{fine}/") for _ in range(5)]
            _all_ended(db, warm, within=30)
            weight = _Scales(running)
            bad = {
                name: [queue(f"https://{HOST}:{port}/") for _ in range(of_each)]
                for name, port in ports.items()
            }
            beside = []
            for _ in range(good_jobs):
                beside.append(queue(f"https://{HOST}:{fine}/"))
                time.sleep(0.2)
                weight.look()
            jobs = [job for some in bad.values() for job in some]
            until(
                lambda: weight.look() and _ended(db, [*jobs, *beside]),
                within=180,
                what="all ended",
                every=0.2,
            )
            assert running.stop() == 0
    waits = [seconds(db, job, "created_at", "started_at") for job in beside]
    whole = [seconds(db, job, "created_at", "finished_at") for job in beside]
    assert all(db.job(job)["status"] == "SUCCEEDED" for job in beside)
    return Figures(
        longest_attempt=max(seconds(db, job, "started_at", "finished_at") for job in jobs),
        grown_mib=weight.grown,
        good_start_p95=p95(waits),
        good_end_p95=p95(whole),
        ends={name: {_end(db.job(job)) for job in some} for name, some in bad.items()},
    )


def reaching(authority: Authority, *ports: int) -> dict[str, object]:
    """What a worker is told, so that it may call them."""
    return {
        "BPC_WEBHOOK_ALLOW_CIDRS": f"{HOST}/32",
        "BPC_WEBHOOK_PORTS": ",".join(map(str, ports)),
        "BPC_WEBHOOK_CA_FILE": authority.ca_file,
        "BPC_LOG_LEVEL": "info",
    }


class _Scales:
    """The memory of a process, from now on."""

    def __init__(self, running: Worker) -> None:
        self._status = Path(f"/proc/{running.pid}/status")
        self._first = self._most = self._now()

    def look(self) -> bool:
        self._most = max(self._most, self._now())
        return True

    @property
    def grown(self) -> float:
        return self._most - self._first

    def _now(self) -> float:
        [line] = [each for each in self._status.read_text().splitlines() if each.startswith("VmRSS")]
        return int(line.split()[1]) / 1024


@contextmanager
def good_place(tls: SSLContext) -> Iterator[int]:
    """In a thread of its own: the bad ones keep their process busy."""
    loop = asyncio.new_event_loop()
    ready, port, done = threading.Event(), [0], asyncio.Event()

    async def serve() -> None:
        async with listening(good, tls=tls) as place:
            port[0] = place.port
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(timeout=10)
        yield port[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(timeout=10)
        loop.close()


def _all_ended(db: Database, jobs: Sequence[str], *, within: float) -> None:
    until(lambda: _ended(db, jobs), within=within, what="jobs ended")


def _ended(db: Database, jobs: Sequence[str]) -> bool:
    row = db.one(
        "SELECT count(*) AS n FROM jobs WHERE finished_at IS NOT NULL AND job_id = ANY(%s)", [[*jobs]]
    )
    return row["n"] == len(jobs)


def seconds(db: Database, job: str, begin: str, end: str) -> float:
    found = db.one(
        f"SELECT extract(epoch FROM {end} - {begin})::float8 AS s FROM jobs WHERE job_id = %s", [job]
    )
    return float(str(found["s"]))


def p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _end(job: dict[str, object]) -> str:
    return str(job["fail_code"] or job["status"])
