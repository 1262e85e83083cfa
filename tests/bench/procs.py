"""What a process has used, from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Stat:
    parent: int
    seconds: float
    ended_children_seconds: float


def stat(pid: int) -> Stat:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system, children_user, children_system = (int(word) / _TICKS for word in words[11:15])
    return Stat(int(words[1]), user + system, children_user + children_system)


def exact_seconds(pid: int) -> float:
    """CPU of all its threads, to the nanosecond: the ticks of `stat` are too coarse for an idle process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def family_seconds(pid: int) -> float:
    """CPU of a process and its children, those that have ended included."""
    own = stat(pid)
    total = own.seconds + own.ended_children_seconds
    for other in Path("/proc").iterdir():
        if other.name.isdigit():
            try:
                found = stat(int(other.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
            if found.parent == pid:
                total += found.seconds + found.ended_children_seconds
    return total


def rss_mb(pid: int) -> float:
    [line] = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    ]
    return int(line.split()[1]) / 1024
