"""The machines: do the clocks agree, and is there room on the disk?"""

import shutil
from collections.abc import Iterator

from bpc_worker.doctor.findings import Case, Finding

_GIB = 1_073_741_824


def check_clock(case: Case) -> Iterator[Finding]:
    before = case.clock()
    there = float(case.row("server")["now"])
    after = case.clock()
    # The server looked at its clock somewhere between.
    off = max(there - after, before - there)
    if off > case.thresholds.clock_seconds:
        ahead = "ahead of" if there > after else "behind"
        yield Finding(
            check="clock.differs",
            what=f"the database's clock is {off:.1f} s {ahead} this machine's",
            why="leases go by the database's clock alone, but logs and schedules do not",
            fix="timedatectl set-ntp true  # on both machines",
            paste="shell",
        )


def check_disk(case: Case) -> Iterator[Finding]:
    row = next(iter(case.rows("data_directory")), None)
    if row is None:
        yield _unknown(case, "the login may not know where the data is")
        return
    if not row["same_machine"]:
        return  # another machine's disk is its own doctor's
    try:
        usage = shutil.disk_usage(row["path"])
    except OSError:
        return  # a container, or a folder that we may not see
    percent = 100 * usage.free / usage.total
    if percent < case.thresholds.free_disk_percent:
        yield Finding(
            check="disk.full",
            what=f"{percent:.0f} % ({usage.free / _GIB:.1f} GiB) are free where the data is: {row['path']}",
            why="a PostgreSQL that cannot write its log stops, and everything with it",
            fix=f"du -xh --max-depth=2 '{row['path']}' | sort -h | tail  # see what grows, and make room",
            paste="shell",
        )


def _unknown(case: Case, what: str) -> Finding:
    login = case.row("role")["login"]
    return Finding(
        check="disk.hidden",
        what=what,
        why="a full disk stops everything, and is not seen from here",
        fix=f'GRANT pg_read_all_settings TO "{login}";',
        level="note",
    )
