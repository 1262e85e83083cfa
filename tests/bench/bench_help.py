"""How long does `bpc-worker --help` take, as a multiple of Python's own start?

`python -m tests.bench.bench_help`: fifteen alternating runs of each, medians; exit code 1 above eight times.
"""

import statistics
import subprocess
import sys
import time

from tests.support.worker import COMMAND

RUNS = 15
LIMIT = 8.0


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def main() -> int:
    bare, ours = [sys.executable, "-c", "pass"], [*COMMAND, "--help"]
    for command in (bare, ours):  # the caches are warm
        seconds(command)
    pairs = [(seconds(bare), seconds(ours)) for _ in range(RUNS)]
    ratio = statistics.median(mine / other for other, mine in pairs)
    bare_ms, ours_ms = (1000 * statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"python -c pass {bare_ms:.0f} ms, bpc-worker --help {ours_ms:.0f} ms")
    print(f"{ratio:.1f} times, the limit is {LIMIT:g}")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
