"""How many passports a second, documents to QR, beside the least it could cost?"""

import tempfile
from pathlib import Path
from typing import Final

from tests.bench.bench import Bench
from tests.bench.bench_passports import GOAL_RATIO, WARM_UP, floor, folders, ours, rows_of
from tests.bench.results import Found, Goal, Rounds
from tests.support.pipeline import pipeline

PASSPORTS, QUICK_PASSPORTS = 100, 15
RATE: Final = "passports/s"
COUNTED: Final = (
    "Passports of three documents each, from the moment their builds are due to the last code drawn, by"
    " one worker with its children. The floor: a script that parses, compiles, signs and draws the same,"
    " and inserts the same rows, one transaction per passport."
)


def measure(bench: Bench) -> Found:
    count = bench.much(PASSPORTS, QUICK_PASSPORTS)
    rounds = Rounds()
    for number in range(bench.rounds):
        with tempfile.TemporaryDirectory() as root, bench.database() as db, bench.database() as bare:
            warm_up = folders(Path(root), WARM_UP, "warm")
            given = folders(Path(root), count, "P")
            seconds, builds = ours(db, pipeline(db), given, warm_up)
            least = floor(bare, given, rows_of(db, builds))
        bench.log(f"passports {number + 1}: {count / seconds:.1f}/s, floor {count / least:.1f}/s")
        rounds.add("ours", RATE, count / seconds, f"n = {count}")
        rounds.add("floor", RATE, count / least, f"n = {count}")
    ratio = rounds["ours", RATE].over(rounds["floor", RATE])
    goal = Goal(name="ours : floor", value=ratio, at_least=GOAL_RATIO)
    return Found(title="whole passports", counted=COUNTED, figures=rounds.figures(), goals=[goal])
