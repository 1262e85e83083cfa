"""Can the batteries of every tenant be found? Their identifiers need a host that is the tenant's own."""

import shlex
from collections.abc import Iterator

import psycopg

from bpc_worker.doctor.findings import Case, Finding


def check(case: Case) -> Iterator[Finding]:
    try:
        with case.connection.transaction():
            without = [str(row["name"]) for row in case.rows("tenants", named=[]) if not _has_one(case, row)]
    except (
        psycopg.errors.UndefinedTable,
        psycopg.errors.UndefinedFunction,
        psycopg.errors.InsufficientPrivilege,
    ):
        return  # of the schema or the role, which is told elsewhere
    for name in without:
        yield Finding(
            check="hosts.missing",
            what=f"the tenant {name} has no host for identifiers",
            why="in production a serial gets no identifier without one, elsewhere one that nobody can open",
            fix=f"bpc-worker host add id.your-company.example --tenant {shlex.quote(name)}",
            paste="shell",
            level=case.grave,
        )


def _has_one(case: Case, tenant: dict[str, object]) -> bool:
    case.connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [str(tenant["tenant_id"])])
    return bool(case.row("has_host")["has_host"])
