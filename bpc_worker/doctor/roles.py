"""May our login do what a worker does, and nothing more?"""

import re
from collections.abc import Iterator

from psycopg.rows import DictRow

from bpc_worker.doctor.catalogue import expected
from bpc_worker.doctor.findings import Case, Finding, quoted

_PG16 = 160000
_GRANT = re.compile(
    r"(\w+)(?: \((\w+)\))? ON (?:TABLE |FUNCTION |SCHEMA )((?:public\.)?.+) TO bpc_worker"
)  # as the catalogue names it
_NOT_WORKERS = frozenset({"bpc_operator", "bpc_reader", "bpc_producer", "bpc_app"})
_STRONG = "whoever takes over the worker could read every tenant's rows and change the audit trail"


def check(case: Case) -> Iterator[Finding]:
    if case.embedded:
        return  # a development server of our own: its only login is its superuser
    role = case.row("role")
    yield from _too_strong(case, role)
    yield from _too_weak(case, role)


def _too_strong(case: Case, role: DictRow) -> Iterator[Finding]:
    login = quoted(role["login"])
    for has, check, what, fix in (
        (role["rolsuper"], "superuser", "is a superuser", f"ALTER ROLE {login} NOSUPERUSER;"),
        (
            role["rolbypassrls"] and not role["rolsuper"],
            "bypasses_tenants",
            "bypasses row level security",
            f"ALTER ROLE {login} NOBYPASSRLS;",
        ),
        (
            role["owns"],
            "owns_tables",
            f"owns tables: {', '.join(role['owns'])}",
            "\n".join(f"ALTER TABLE public.{quoted(table)} OWNER TO bpc_owner;" for table in role["owns"]),
        ),
        (
            "bpc_owner" in role["member_of"] and not role["rolsuper"],
            "owns_the_schema",
            "is a member of bpc_owner, which migrates",
            f"REVOKE bpc_owner FROM {login};",
        ),
        (
            "pg_write_all_data" in role["uses"] and not role["rolsuper"],
            "writes_everything",
            "is a member of pg_write_all_data",
            f"REVOKE pg_write_all_data FROM {login};",
        ),
    ):
        if has:
            yield Finding(
                check=f"role.{check}",
                what=f"the worker's login {role['login']} {what}",
                why=_STRONG,
                fix=fix,
                level=case.grave,
            )


def _too_weak(case: Case, role: DictRow) -> Iterator[Finding]:
    if not role["has_roles"] or role["rolsuper"] or "bpc_worker" in role["uses"]:
        return  # without roles there is no schema, which is told elsewhere
    lacking = _lacking(case)
    if not lacking:
        return  # an administrator granted everything to the login itself
    others = sorted(_NOT_WORKERS & {*role["member_of"]})
    if others and "bpc_worker" not in role["member_of"]:
        yield _not_a_worker(role["login"], others)
        return
    login = quoted(role["login"])
    if "bpc_worker" not in role["member_of"]:
        what, fix = "is not a member of bpc_worker", f"GRANT bpc_worker TO {login};"
    elif case.row("server")["version_number"] >= _PG16:
        what = "is a member of bpc_worker that does not inherit its rights"
        fix = f"GRANT bpc_worker TO {login} WITH INHERIT TRUE;"
    else:
        what = "is a member of bpc_worker that does not inherit its rights"
        fix = f"ALTER ROLE {login} INHERIT;"
    yield Finding(
        check="role.too_weak",
        what=f"the worker's login {role['login']} {what}, and lacks: {_some(lacking)}",
        why="its statements are refused: no job is claimed, and ready stays red",
        fix=fix,
    )


def _not_a_worker(login: str, roles: list[str]) -> Finding:
    return Finding(
        check="role.not_a_worker",
        what=f"the login {login} is a member of {', '.join(roles)} and not of bpc_worker: what a worker"
        " may do was not examined",
        why="a worker with this login would claim nothing; an operator needs no more than this",
        fix="env BPC_DATABASE_URL=postgresql://… bpc-worker doctor  # with the worker's own address",
        paste="shell",
        level="note",
    )


def _some(lacking: list[str]) -> str:
    shown, more = lacking[:3], len(lacking) - 3
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _lacking(case: Case) -> list[str]:
    """What bpc_worker may do, and the login may not."""
    named = [thing.name for thing in expected() if thing.kind == "grant"]
    wanted = [found.groups(default="") for found in map(_GRANT.fullmatch, named) if found is not None]
    privileges, columns, things = (list(part) for part in zip(*wanted, strict=True))
    rows = case.rows("lacking", privileges=privileges, columns=columns, things=things)
    lacks = [wanted[row["place"] - 1] for row in rows]
    return [f"{privilege}{f' ({column})' if column else ''} ON {thing}" for privilege, column, thing in lacks]
