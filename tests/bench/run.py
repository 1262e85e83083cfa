"""Us beside our peers, on one PostgreSQL, in one run: `python -m tests.bench.run --help`."""

import argparse
import os
import platform
import sys
import time
import traceback
from pathlib import Path

from tests.bench import bench, report
from tests.bench.bench import ROOT, Bench
from tests.bench.results import Found, Goal
from tests.bench.rows import ROWS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(ROWS), help=f"rows, of {', '.join(ROWS)}")
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--quick", action="store_true", help="less of everything, in two minutes")
    parser.add_argument("--json", type=Path, default=ROOT / "out" / "bench.json", help="where the figures go")
    parser.add_argument("--docs", type=Path, help="a page that gets the table between its two marks")
    given = parser.parse_args()
    given.only = given.only.split(",")
    unknown = [name for name in given.only if name not in ROWS]
    if unknown:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    given.rounds = given.rounds or (1 if given.quick else 3)
    return given


def calm() -> bool:
    return os.getloadavg()[0] < (os.cpu_count() or 1) / 4


def facts(running: Bench) -> dict[str, str]:
    """What the figures depend on."""
    names = ("server_version", "fsync", "synchronous_commit", "shared_buffers", "max_connections")
    with running.database() as db:
        settings = {name: str(db.one(f"SHOW {name}")[name]) for name in names}
    return {
        "date": time.strftime("%Y-%m-%d"),
        "kind": f"{'quick' if running.quick else 'full'}, {running.rounds} interleaved rounds",
        "machine": f"{os.cpu_count()} cores for clients and servers; Python {platform.python_version()}",
        "load before the start": f"{os.getloadavg()[0]:.2f}"
        + ("" if calm() else ": busy, so run it again when it is calm"),
        "PostgreSQL": ", ".join(f"{name} {value}" for name, value in settings.items()),
    }


def _row(running: Bench, name: str) -> Found:
    """A row that breaks is a goal missed, and costs the others nothing."""
    try:
        return ROWS[name](running)
    except Exception as error:  # noqa: BLE001 - whatever it was, the other rows can still be measured
        traceback.print_exc()
        broken = Goal(name="the row ran to its end", value=0, at_least=1)
        return Found(title="broken", counted=f"{type(error).__name__}: {error}", figures=[], goals=[broken])


def main() -> int:
    given = arguments()
    rows = {}
    with bench.opened(rounds=given.rounds, quick=given.quick) as running:
        known = facts(running)
        for name in given.only:
            began = time.monotonic()
            rows[name] = _row(running, name)
            running.log(f"{name}: {time.monotonic() - began:.0f} s")
    text = report.markdown(rows, known)
    print(f"{text}\n{report.summary(rows)}")
    report.write_json(given.json, rows, known)
    if given.docs is not None:
        report.write_docs(given.docs, text)
    return 0 if all(goal.met for found in rows.values() for goal in found.goals) else 1


if __name__ == "__main__":
    sys.exit(main())
