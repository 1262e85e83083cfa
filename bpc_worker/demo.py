"""A minute with a real worker: real jobs on a real database, one of them failing and retried."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import psycopg
from rich.console import Console
from rich.live import Live
from rich.table import Table

_TENANT = "demo"
_LONGEST_SECONDS = 90.0
_LOOK_SECONDS = 0.1

_WEIGH = "import json, sys; parts = json.load(sys.stdin); print(json.dumps({'mass_kg': sum(parts.values())}))"
_HASH = (
    "import hashlib, json, sys\n"
    "print(json.dumps({'sha256': hashlib.sha256(sys.stdin.buffer.read()).hexdigest()}))"
)
_FLAKY = (
    "import os, sys\n"
    "if os.environ['BPC_ATTEMPT'] == '1': sys.exit('the supplier does not answer')\n"
    "print('{\"answered\": true}')"
)
_SLOW = "import time; time.sleep(1.5); print('{\"pages\": 12}')"

_COMMANDS = {
    name: {"argv": [sys.executable, "-I", "-c", script], "timeout_seconds": 30}
    for name, script in {"weigh": _WEIGH, "hash": _HASH, "ask-supplier": _FLAKY, "read-report": _SLOW}.items()
}
_JOBS: Sequence[tuple[str, object]] = (
    ("weigh", {"cells": 312, "housing": 64, "electronics": 9}),
    ("hash", {"document": "bill of materials"}),
    ("ask-supplier", None),
    ("read-report", None),
    ("hash", {"document": "carbon footprint study"}),
    ("weigh", {"cells": 6, "housing": 2}),
)


class Row(NamedTuple):
    command: str
    status: str
    attempts: int
    due_in: float
    result: str


def play(url: str) -> int:
    """Queue the jobs, run a worker beside, show what happens; 0 when all of them succeeded."""
    console = Console(soft_wrap=True)
    with psycopg.connect(url, autocommit=True) as connection:
        job_ids = _queue(connection)
        console.print(f"[bold]{len(job_ids)} RUN_COMMAND jobs queued[/]; starting a worker (bpc-worker run)")
        worker = subprocess.Popen([sys.executable, "-m", "bpc_worker", "run"], env=_environment(url))
        try:
            rows = _watch(connection, job_ids, worker, console)
        finally:
            worker.send_signal(signal.SIGTERM)
            code = worker.wait(timeout=40)
    return _verdict(console, rows, code)


def clean(url: str) -> int:
    """Remove the demo's own jobs and tenant."""
    with psycopg.connect(url, autocommit=True) as connection, connection.transaction():
        mine = "(SELECT tenant_id FROM tenants WHERE name = %(name)s)"
        params = {"name": _TENANT}
        connection.execute(
            f"DELETE FROM job_events WHERE job_id IN (SELECT job_id FROM jobs WHERE tenant_id IN {mine})",  # noqa: S608 - a constant
            params,
        )
        removed = connection.execute(f"DELETE FROM jobs WHERE tenant_id IN {mine}", params).rowcount  # noqa: S608 - a constant
        connection.execute("DELETE FROM tenants WHERE name = %(name)s", params)
    Console().print(f"{removed} jobs of earlier demos removed")
    return 0


def _queue(connection: psycopg.Connection) -> list[object]:
    connection.execute("INSERT INTO tenants (name) VALUES (%s) ON CONFLICT DO NOTHING", [_TENANT])
    inserted = (
        connection.execute(
            "INSERT INTO jobs (tenant_id, type, payload)"
            " SELECT tenant_id, 'RUN_COMMAND', %s::jsonb FROM tenants WHERE name = %s RETURNING job_id",
            [json.dumps({"command": command, "stdin": stdin}), _TENANT],
        ).fetchone()
        for command, stdin in _JOBS
    )
    return [row[0] for row in inserted if row is not None]


def _environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BPC_")}
    return kept | {
        "BPC_DATABASE_URL": url,
        "BPC_COMMANDS": json.dumps(_COMMANDS),
        "BPC_HTTP_PORT": "0",
        "BPC_LOG_LEVEL": "error",
    }


def _watch(
    connection: psycopg.Connection, job_ids: list[object], worker: subprocess.Popen[bytes], console: Console
) -> list[Row]:
    ends_at = time.monotonic() + _LONGEST_SECONDS
    told: list[Row] = []
    with Live(console=console, transient=False, auto_refresh=False) as live:
        while True:
            rows = _rows(connection, job_ids)
            if console.is_terminal:
                live.update(_table(rows), refresh=True)
            else:
                _tell_changes(console, told, rows)
                told = rows
            finished = all(row.status not in {"QUEUED", "RUNNING"} for row in rows)
            if finished or worker.poll() is not None or time.monotonic() > ends_at:
                return rows
            time.sleep(_LOOK_SECONDS)


def _rows(connection: psycopg.Connection, job_ids: list[object]) -> list[Row]:
    rows = connection.execute(
        "SELECT payload ->> 'command', status, attempts,"
        " extract(epoch FROM scheduled_at - now())::float,"
        " coalesce(result ->> 'answer', last_error ->> 'message', '')"
        " FROM jobs WHERE job_id = ANY (%(ids)s) ORDER BY array_position(%(ids)s, job_id)",
        {"ids": job_ids},
    ).fetchall()
    return [Row(*row) for row in rows]


_COLOURS = {
    "SUCCEEDED": "green",
    "RUNNING": "cyan",
    "QUEUED": "yellow",
    "FAILED": "red",
    "DEAD_LETTER": "red",
}


def _table(rows: list[Row]) -> Table:
    table = Table("command", "status", "attempt", "what it said", title="jobs")
    for row in rows:
        colour = _COLOURS.get(row.status, "white")
        table.add_row(row.command, f"[{colour}]{_status(row)}[/]", str(row.attempts), row.result)
    return table


def _status(row: Row) -> str:
    waits = row.status == "QUEUED" and row.attempts > 0
    return f"retry in {max(0.0, row.due_in):.1f} s" if waits else row.status


def _tell_changes(console: Console, before: list[Row], now: list[Row]) -> None:
    for number, row in enumerate(now):
        if not before or (before[number].status, before[number].attempts) != (row.status, row.attempts):
            said = f"  {row.result}" if row.result else ""
            console.print(
                f"  {row.command:<13} {_status(row):<14} attempt {row.attempts}{said}", highlight=False
            )


def _verdict(console: Console, rows: list[Row], code: int) -> int:
    succeeded = sum(row.status == "SUCCEEDED" for row in rows)
    retried = [row.command for row in rows if row.attempts > 1]
    console.print(
        f"[bold]{succeeded} of {len(rows)} succeeded[/], retried: {', '.join(retried) or 'none'};"
        f" the worker gave everything back and left with exit code {code}"
    )
    if succeeded != len(rows) or code != 0:
        console.print("[red]the demo did not end as it should[/]; `bpc-worker run` shows the log")
        return 1
    console.print(
        "No broker here, so the worker polled; with BPC_QUEUE_URL set, a message on exchange bpc wakes it.\n"
        "Next:\n"
        "  bpc-worker tenant add acme                                          a tenant of your own\n"
        '  bpc-worker enqueue RUN_COMMAND --tenant acme --payload \'{"command": "hello"}\'\n'
        '  BPC_COMMANDS=\'{"hello": {"argv": ["/bin/echo", "hi"]}}\' bpc-worker once\n'
        "  bpc-worker demo --clean                                             remove what the demo left",
        highlight=False,
        markup=False,
    )
    return 0
