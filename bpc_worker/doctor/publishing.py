"""Does the public door have the versions that are in force?"""

import shlex
from collections.abc import Iterator

import psycopg

from bpc_worker.doctor.findings import Case, Finding


def check(case: Case) -> Iterator[Finding]:
    try:
        with case.connection.transaction():
            lacking = [(str(row["name"]), _lacks(case, row)) for row in case.rows("tenants", named=[])]
    except (
        psycopg.errors.UndefinedTable,
        psycopg.errors.UndefinedFunction,
        psycopg.errors.InsufficientPrivilege,
    ):
        return  # of the schema or the role, which is told elsewhere
    for name, count in lacking:
        if count:
            yield Finding(
                check="public.missing",
                what=f"{count} versions in force of the tenant {name} are not known to the public door",
                why="they were signed before it had tables of its own: their codes open no passport",
                fix=f"bpc-worker public refill --tenant {shlex.quote(name)}",
                paste="shell",
                level=case.grave,
            )


def _lacks(case: Case, tenant: dict[str, object]) -> int:
    case.connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [str(tenant["tenant_id"])])
    return int(str(case.row("unpublished")["count"]))
