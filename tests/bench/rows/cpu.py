"""Do CPU-bound jobs get the cores, and does a job that only talks still start at once?"""

from typing import Final

from tests.bench import bench_cpu
from tests.bench.bench import Bench
from tests.bench.results import Figure, Found, Goal
from tests.support.worker import worker

SECONDS, QUICK_SECONDS = 20, 5
COUNTED: Final = (
    "One worker with its defaults and a backlog of two CPU-bound types whose work is done in children. Busy:"
    " processor time of the worker and its children over wall time and cores; of what was left: the same"
    " without what others used, PostgreSQL and the bench among them. Start delay: from before the INSERT of a"
    " job that only awaits to its handler's first line, at odd moments, woken by NOTIFY."
)


def measure(bench: Bench) -> Found:
    seconds = bench.much(SECONDS, QUICK_SECONDS)
    with bench.database() as db, worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info") as running:
        running.wait_ready()
        bench_cpu.feed(db, seconds)
        found = bench_cpu.measure(db, running, seconds)
    bench.log(f"cpu: {found}")
    value = {name: float(str(found[name])) for name in found if not name.startswith("goal")}
    busy, left, waited = value["busy"], value["busy_of_what_was_left"], value["start_p95_ms"]
    cores, started = f"{found['cores']} cores, {seconds} s", f"n = {found['started']}"
    figures = [
        Figure(name="cores busy", unit="%", values=(100 * busy,), settings=cores),
        Figure(name="cores busy, of what was left", unit="%", values=(100 * left,), settings=cores),
        Figure(name="start delay, p50", unit="ms", values=(value["start_p50_ms"],), settings=started),
        Figure(name="start delay, p95", unit="ms", values=(waited,), settings=started),
    ]
    goals = [
        Goal(name="cores busy", value=100 * busy, at_least=100 * bench_cpu.GOAL_BUSY, unit="%"),
        Goal(name="start delay, p95", value=waited, at_most=bench_cpu.GOAL_START_MS, unit="ms"),
    ]
    return Found(title="CPU-bound jobs", counted=COUNTED, figures=figures, goals=goals)
