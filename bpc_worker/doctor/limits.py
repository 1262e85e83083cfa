"""Do the server's settings and limits let workers work, and keep what they are told is kept?"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from psycopg.rows import DictRow

from bpc_worker.doctor.findings import Case, Finding, quoted
from bpc_worker.wiring import connection_budget

_LOST = "what a worker reported as done can be undone by a crash of the server"
_MS = 1000

# Whether a value will do, the one to set instead, and why.
_Rule: TypeAlias = tuple[Callable[[str], bool], str, str]


def check(case: Case) -> Iterator[Finding]:
    yield from _settings(case)
    yield from _connections(case)


def _settings(case: Case) -> Iterator[Finding]:
    server, rules = case.row("server"), _rules(case)
    for row in case.rows("settings"):
        fits, value, why = rules.get(row["name"], (lambda _: True, "", ""))
        if not fits(row["setting"]):
            yield Finding(
                check=f"settings.{row['name']}",
                what=f"{row['name']} is {row['setting']}{row['unit']} ({row['source']})",
                why=why,
                fix=_reset(row, server, value),
                paste="shell" if row["source"] == "client" else "psql",
            )


def _rules(case: Case) -> dict[str, _Rule]:
    lease = case.settings.jobs.lease_seconds
    rules: dict[str, _Rule] = {
        "statement_timeout": (lambda v: int(v) > 0, f"{_statement(case)}", "a statement could hang for ever"),
        "idle_in_transaction_session_timeout": (
            lambda v: 0 < int(v) <= lease * _MS,
            f"{round(lease / 2 * _MS)}",
            "a worker that froze in a transaction would keep its rows locked for longer than a lease",
        ),
        "transaction_timeout": (
            lambda v: int(v) == 0 or int(v) >= _statement(case),
            "0",
            "longer transactions of handlers are cut off, attempt after attempt",
        ),
        "default_transaction_read_only": (lambda v: v == "off", "off", "no job can be claimed or settled"),
        "default_transaction_isolation": (
            lambda v: v == "read committed",
            "'read committed'",
            "claims that meet one another fail instead of passing over each other's rows",
        ),
        "synchronous_commit": (lambda v: v != "off", "on", _LOST),
        "fsync": (lambda v: v == "on", "on", _LOST),
        "full_page_writes": (lambda v: v == "on", "on", _LOST),
        "session_replication_role": (lambda v: v == "origin", "origin", "triggers that guard do not fire"),
        "row_security": (lambda v: v == "on", "on", "statements on tenants' tables fail"),
    }
    if not case.settings.database.prepared_statements:
        # Behind a pooler the limits are set inside each transaction.
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            del rules[name]
    return rules


def _statement(case: Case) -> int:
    return round(case.settings.database.statement_timeout_seconds * _MS)


def _reset(row: DictRow, server: DictRow, value: str) -> str:
    name, login, database = row["name"], quoted(server["login"]), quoted(server["database"])
    match row["source"]:
        case "user":
            return f"ALTER ROLE {login} RESET {name};"
        case "database":
            return f"ALTER DATABASE {database} RESET {name};"
        case "database user":
            return f"ALTER ROLE {login} IN DATABASE {database} RESET {name};"
        case "client":
            return f"# take {name} out of the options in BPC_DATABASE_URL: {value} is meant"
        case _:
            return f"ALTER SYSTEM SET {name} = {value};\nSELECT pg_reload_conf();"


def per_worker(case: Case) -> int:
    """The most connections of one worker, while the server does not answer."""
    return connection_budget(case.settings).most


def _connections(case: Case) -> Iterator[Finding]:
    limits, role = case.row("limits"), case.row("role")
    server, needs = case.row("server"), per_worker(case)
    workers = max(1, limits["workers"])
    of_all = needs * workers
    why = "a worker that gets no connection claims nothing; a handler that gets none waits"
    free = limits["usable"] - limits["used"] + 1  # ours goes
    if free < needs:
        room = -(-(limits["usable"] + needs - free) // 50) * 50
        yield Finding(
            check="limits.max_connections",
            what=f"{free} connections are free, and a worker may need {needs}",
            why=why,
            fix=f"ALTER SYSTEM SET max_connections = {room};  -- then restart the server",
        )
    for limit, check, fix in (
        (role["rolconnlimit"], "role", f"ALTER ROLE {quoted(role['login'])} CONNECTION LIMIT -1;"),
        (
            limits["database_limit"],
            "database",
            f"ALTER DATABASE {quoted(server['database'])} CONNECTION LIMIT -1;",
        ),
    ):
        if 0 <= limit < of_all and not role["rolsuper"]:
            yield Finding(
                check=f"limits.{check}_connections",
                what=f"the {check} may have {limit} connections, and {workers} worker(s) may need {of_all}",
                why=why,
                fix=fix,
            )
