"""What one process has used, from /proc."""

from pathlib import Path


def exact_seconds(pid: int) -> float:
    """CPU of all its threads, to the nanosecond: the kernel's ticks are too coarse for an idle process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
