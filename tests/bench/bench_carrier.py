"""Ten thousand labels in one command, then read and measured: `python -m tests.bench.bench_carrier [labels]`.

Made twice, the second time killed in the middle and run again: the same bytes. Every tenth code is decoded by
zxing-cpp from its PNG and from the rendered PDF, and measured there. Exit code 1 when a goal is missed.
"""

import hashlib
import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bpc_worker.carrier.template import of_category
from bpc_worker.core.base.identifier import CROCKFORD
from tests.support.carriers import Seen, in_pdf, in_png, table
from tests.support.worker import COMMAND

LABELS, EVERY = 10_000, 10
CATEGORY = "ev"
MOST_SECONDS = 120.0  # of two cores
MODULE_MM, SIDE_MM, QUIET = 0.396, 20.0, 4.0
PIXEL = 0.03  # what a rendered edge may be off, in modules


def command(urls: Path, out: Path) -> list[str]:
    options = ["--category", CATEGORY, "--capacity", "210 Ah", "--metal", "Pb", "--processes", "2"]
    return [*COMMAND, "carrier", "make", "--identifiers", str(urls), "--out", str(out), *options]


def write_urls(path: Path, count: int) -> list[str]:
    """Of fifty characters, the most that the registry takes, with serials that were drawn."""
    serials = ["".join(secrets.choice(CROCKFORD) for _ in range(10)) for _ in range(count)]
    urls = [f"https://id.ex-o.eu/01/09506000134352/21/{serial}" for serial in serials]
    path.write_text("\n".join(urls))
    return urls


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def hashes(out: Path) -> dict[str, str]:
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def killed_in_the_middle(urls: Path, out: Path, codes: int) -> int:
    """The whole group of processes, when half of the codes are there; how many were."""
    with subprocess.Popen(command(urls, out), stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while (there := len([*out.glob("svg/*.svg")])) < codes // 2:
            if process.poll() is not None:
                raise RuntimeError("it ended before it could be killed")
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)  # its processes end by themselves
    return there


@dataclass(slots=True)
class Measured:
    """The smallest of each that was seen, and what was read wrongly."""

    codes: int = 0
    module_mm: float = float("inf")
    side_mm: float = float("inf")
    quiet: float = float("inf")
    wrong: list[str] = field(default_factory=list)

    def add(self, found: Seen, expected: str) -> None:
        self.codes += 1
        self.module_mm = min(self.module_mm, found.module_mm)
        self.side_mm = min(self.side_mm, found.side_mm)
        self.quiet = min(self.quiet, found.quiet_modules)
        if found.text != expected:
            self.wrong.append(expected)

    @property
    def good(self) -> bool:
        sizes = self.module_mm >= MODULE_MM and self.side_mm >= SIDE_MM and self.quiet >= QUIET - PIXEL
        return sizes and not self.wrong

    def __str__(self) -> str:
        sizes = (
            f"module {self.module_mm:.3f} mm, side {self.side_mm:.2f} mm, quiet zone {self.quiet:.2f} modules"
        )
        return f"{self.codes} codes read, {len(self.wrong)} wrongly; at least: {sizes}"


def read_back(out: Path) -> dict[str, Measured]:
    template = of_category(CATEGORY)
    measured = {"PNG": Measured(), "PDF": Measured()}
    for number, row in enumerate(table(out)):
        if number % EVERY == 0:
            measured["PNG"].add(in_png((out / row["png"]).read_bytes()), row["identifier"])
            on_sheet = in_pdf(out / row["pdf"], template, int(row["page"]), int(row["place"]))
            measured["PDF"].add(on_sheet, row["identifier"])
    return measured


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else LABELS
    with tempfile.TemporaryDirectory() as folder:
        urls, one, two = Path(folder) / "urls.txt", Path(folder) / "one", Path(folder) / "two"
        wanted = write_urls(urls, count)
        started, before = time.perf_counter(), cpu_of_children()
        subprocess.run(command(urls, one), check=True, stdout=subprocess.DEVNULL)
        wall, cpu = time.perf_counter() - started, cpu_of_children() - before
        listed = [row["identifier"] for row in table(one)]
        print(
            f"{count} codes and labels: {wall:.1f} s, {cpu:.1f} s of CPU ({cpu / 2:.1f} s on two free cores)"
        )

        there = killed_in_the_middle(urls, two, count)
        subprocess.run(command(urls, two), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        same = hashes(one) == hashes(two)
        print(f"killed with {there} of {count} codes and run again: {'the same files' if same else 'OTHERS'}")

        measured = read_back(one)
        for name, found in measured.items():
            print(f"{name}: {found}")
    quick = cpu / 2 <= MOST_SECONDS * count / LABELS
    return 0 if quick and same and listed == wanted and all(each.good for each in measured.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
