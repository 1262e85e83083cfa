"""Who keeps dead rows, locks or the log from being cleaned away?"""

from collections.abc import Iterator

from bpc_worker.doctor.findings import Case, Finding, literal, quoted

_WHY = "rows that died since then cannot be cleaned away: claims get slower by the hour"
_MIB = 1_048_576


def check(case: Case) -> Iterator[Finding]:
    stale = case.thresholds.stale_seconds
    for row in case.rows("old_transactions", stale=stale):
        who = f"{row['login']} ({row['program'] or 'no name'}, {row['client']}, {row['state']})"
        yield Finding(
            check="transactions.old",
            what=f"process {row['pid']} of {who} has a transaction open for {row['seconds']:.0f} s",
            why=_WHY,
            fix=f"SELECT pg_terminate_backend({row['pid']});",
        )
    for row in case.rows("prepared_transactions", stale=stale):
        yield Finding(
            check="transactions.prepared",
            what=f"{row['login']} prepared transaction {row['gid']!r} {row['seconds']:.0f} s ago and left it",
            why=f"{_WHY}, and its locks stay until somebody ends it, even over a restart",
            fix=f"\\connect {quoted(row['database'])}\nROLLBACK PREPARED {literal(row['gid'])};",
        )
    for row in case.rows("replication_slots"):
        kept = f", and keeps {row['bytes'] / _MIB:.0f} MiB of log" if row["bytes"] is not None else ""
        yield Finding(
            check="transactions.slot",
            what=f"nobody reads from the {row['type']} replication slot {row['name']}{kept}",
            why=_WHY if row["keeps_rows"] else "the log is kept for it until the disk is full",
            fix=f"SELECT pg_drop_replication_slot({literal(row['name'])});",
        )
    role = case.row("role")
    if not role["rolsuper"] and not {"pg_read_all_stats", "pg_monitor"} & set(role["uses"]):
        yield Finding(
            check="transactions.hidden",
            what=f"the login {role['login']} may not see what other logins do",
            why="a forgotten transaction of somebody else stays unseen here",
            fix=f"GRANT pg_read_all_stats TO {quoted(role['login'])};",
            level="note",
        )
