"""Do CPU-bound jobs get the cores, and does a job that only talks still start at once?"""

import os
import time
from typing import Final

from tests.bench.bench import Bench, Program, module, program, settle_down
from tests.bench.filling import fill
from tests.bench.marks import Heard, marks
from tests.bench.procs import family_seconds
from tests.bench.results import Figure, Found, Goal, p50, p95
from tests.support.worker import until, worker

PROBES, QUICK_PROBES = 100, 30
EVERY: Final = 0.1  # seconds between two jobs that only talk
BACKLOG: Final = 500
SECONDS: Final = 0.2  # of CPU, of one job
LONGEST: Final = 10.0  # that one of them is waited for
CORES: Final = os.cpu_count() or 1
COUNTED: Final = (
    "One worker, as many children as cores, otherwise its defaults; two types of CPU-bound jobs (0.2 s"
    " each in a child) with 500 queued of each. Busy: user and system time of the worker and its"
    " children over the wall and the cores. Start delay: an async job every 0.1 s, from before the call"
    " that queues it to its first line."
)


def probed(producer: Program, heard: Heard, count: int) -> list[float]:
    """How long each of the async jobs waited, in milliseconds; nobody waits for ever."""
    delays: list[float] = []
    for number in range(count):
        time.sleep(EVERY)
        producer.tell(number)
        before_ns = producer.hear()["before_ns"]
        try:
            delays.append((heard.next(within=LONGEST)[1] - before_ns) / 1e6)
        except TimeoutError:
            return delays + [LONGEST * 1000] * (count - number)
    return delays


def run(bench: Bench, count: int) -> tuple[float, list[float]]:
    """How busy the cores were, and how long the async jobs waited."""
    settings = {"BPC_WORKER_PROCESSES": CORES, "BPC_NOTIFY_ENABLED": True, "BPC_LOG_LEVEL": "info"}
    with bench.database() as db, marks() as heard:
        for job_type in ("TEST_CPU_ONE", "TEST_CPU_TWO"):
            fill(db, BACKLOG, job_type=job_type, payload=f'{{"seconds": {SECONDS}}}')
        settle_down(db)
        asked = {"url": db.url, "tenant": db.tenant(), "pipe": str(heard.path), "broker": None}
        with (
            program(module("ours"), do="produce", **asked) as producer,
            worker(db.url_as("bpc_worker"), **settings) as running,
        ):
            producer.hear()
            until(lambda: db.run("SELECT FROM jobs WHERE status = 'SUCCEEDED' LIMIT 1"), within=30)
            used, began = family_seconds(running.pid), time.monotonic()
            delays = probed(producer, heard, count)
            busy = (family_seconds(running.pid) - used) / (time.monotonic() - began) / CORES
        left = db.one("SELECT count(*) AS left FROM jobs WHERE status = 'QUEUED'")["left"]
        assert int(str(left)) > count, "the CPU-bound jobs were done too early"
    return busy, delays


def measure(bench: Bench) -> Found:
    count = bench.much(PROBES, QUICK_PROBES)
    busy, delays = run(bench, count)
    bench.log(f"cpu: {100 * busy:.0f} % busy, start delay p95 {p95(delays):.1f} ms")
    figures = [
        Figure(name="cores busy", unit="%", values=(100 * busy,), settings=f"{CORES} cores"),
        Figure(name="start delay, p50", unit="ms", values=(p50(delays),), settings=f"n = {count}"),
        Figure(name="start delay, p95", unit="ms", values=(p95(delays),), settings=f"n = {count}"),
    ]
    goals = [
        Goal(name="cores busy", value=100 * busy, at_least=90, unit="%"),
        Goal(name="start delay, p95", value=p95(delays), at_most=50, unit="ms"),
    ]
    return Found(title="CPU-bound jobs", counted=COUNTED, figures=figures, goals=goals)
