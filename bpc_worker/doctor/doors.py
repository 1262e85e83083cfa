"""Are the logins of the doors what they should be, and do tokens that are in use end soon?"""

import shlex
from collections.abc import Iterator

import psycopg
from psycopg.rows import DictRow

from bpc_worker.doctor.findings import Case, Finding, many, quoted

_PG16 = 160000
_SOON_DAYS = 14


def check(case: Case) -> Iterator[Finding]:
    yield from _web_roles(case)
    for row in case.rows("door_logins"):
        if row["is_too"]:
            yield _too_much(case, row)
    yield from _ending(case)


def _web_roles(case: Case) -> Iterator[Finding]:
    """As the migration leaves them; somebody may have granted otherwise since."""
    grants = case.row("server")["version_number"] >= _PG16
    wrong = [row for row in case.rows("web_roles") if row["inherits"] or not row["may_become"]]
    if wrong:
        has = [str(row["role"]) for row in wrong if row["inherits"]]
        lacks = [str(row["role"]) for row in wrong if not row["may_become"]]
        what = [f"has the rights of {', '.join(has)} without SET ROLE"] if has else []
        what += [f"cannot become {', '.join(lacks)}"] if lacks else []
        end = " WITH INHERIT FALSE, SET TRUE;" if grants else ";"
        again = [f"GRANT {each} TO bpc_web{end}" for each in has + lacks]
        yield Finding(
            check="doors.web_role",
            what=f"the role bpc_web {' and '.join(what)}",
            why="a page must not be able to write, and the doors act by roles that they take on",
            fix="\n".join(["ALTER ROLE bpc_web NOINHERIT;", *again]),
        )


def _too_much(case: Case, row: DictRow) -> Finding:
    """A web server of one's own may want bpc_app too; whoever reads for everybody wants nothing."""
    is_public, roles = row["door"] == "bpc_public", ", ".join(row["is_too"])
    return Finding(
        check="doors.public_login" if is_public else "doors.web_login",
        what=f"the login {row['login']} is a member of {row['door']}, and has {roles} too",
        why="what it is to show everybody is no longer all that it can read"
        if is_public
        else "it has these rights where nobody said as whom it acts: give the doors a login of bpc_web alone",
        fix=f"REVOKE {roles} FROM {quoted(row['login'])};",
        level=case.grave if is_public else "note",
    )


def _ending(case: Case) -> Iterator[Finding]:
    try:
        with case.connection.transaction():
            rows = case.rows("tokens", days=_SOON_DAYS)
    except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
        return  # an older schema, which is told elsewhere; a worker's login, which sees no tokens
    for row in rows:
        whose = f"--tenant {shlex.quote(row['tenant'])}" if row["tenant"] else "--all-tenants"
        yield Finding(
            check="doors.token_ends",
            what=f"the token {row['name']} is in use and ends in {many(row['days'], 'day')}",
            why="whoever uses it is refused from then on: make another, hand it over, revoke this one",
            fix=f"bpc-worker token list {whose}",
            paste="shell",
            level="note",
        )
