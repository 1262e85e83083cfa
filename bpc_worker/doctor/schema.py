"""Is the schema what the migrations of this release make?"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import psycopg
from psycopg.rows import DictRow

from bpc_worker.doctor.catalogue import Difference, differences, expected, things
from bpc_worker.doctor.findings import Case, Finding, literal
from bpc_worker.postgres.migrate import (
    Applied,
    Ledger,
    Migration,
    earlier_baseline,
    known,
    known_functions,
)
from bpc_worker.postgres.sql_files import query

_ROOTS = {"table", "view", "function"}
_NOT_THE_OWNERS = {"table owner", "view owner", "function owner"}  # giving away needs more than owning
_WHY = {
    "index": "without it claims or look-ups read whole tables, and get slower with every finished job",
    "unique index": "without it the same thing can be stored twice",
    "table": "statements that use it fail, and what was in it is gone: restore it from a backup",
    "view": "it shows a tenant its own jobs and no others",
    "column": "statements that use it fail; ready goes red",
    "generated column": "statements that use it fail; ready goes red",
    "function": "what the database guards or does by itself depends on it",
    "trigger": "it guards evidence, legal changes of state, or wakes the workers",
    "trigger that fires": "a trigger that does not fire guards nothing",
    "policy": "it keeps the tenants apart",
    "row security": "without it every tenant's rows are seen by all",
    "grant": "a role may do what it must not, or may not do what it must",
}
_EXTRA = "somebody added it: it can refuse what a claim or a settle writes, and so stop the queue"
_OTHERS = "rows that must not exist can exist, or rows that must exist cannot"


def check(case: Case) -> Iterator[Finding]:
    try:
        applied = [Applied(**row) for row in _ledger(case, "applied")]
    except psycopg.errors.UndefinedTable:
        yield Finding(
            check="schema.none",
            what="the database has no schema of ours",
            why="there is no queue to work on",
            fix="bpc-worker migrate",
            paste="shell",
        )
        return
    except psycopg.errors.InsufficientPrivilege:
        return  # the role is too weak, which is told elsewhere
    if earlier_baseline(applied) is not None:
        yield _earlier(applied)
        return
    missing = list(_missing(Ledger(applied, _functions(case)), known()))
    newer = list(_newer(applied, known()))
    yield from [*missing, *newer, *_changed(applied, known())]
    if not missing and not newer:  # else the objects differ for a reason that has been told
        yield from drift(case)
    yield from _open(case)


def _ledger(case: Case, name: str) -> list[DictRow]:
    with case.connection.transaction():
        return case.connection.execute(query(f"schema/{name}")).fetchall()


def _functions(case: Case) -> frozenset[tuple[str, str]]:
    try:
        return frozenset((row["name"], row["checksum"]) for row in _ledger(case, "functions"))
    except psycopg.errors.UndefinedTable:  # told below, as a table that is missing
        return frozenset((each.version, each.checksum) for each in known_functions())


def _earlier(applied: Sequence[Applied]) -> Finding:
    return Finding(
        check="schema.baseline",
        what=f"the schema is of an earlier baseline: {earlier_baseline(applied)}",
        why="it was never released, and no migration leads from it to this one: keep what you need of it with"
        " pg_dump, make a new database, name it in BPC_DATABASE_URL and run `bpc-worker migrate`",
        fix="CREATE DATABASE bpc_anew;",
    )


def _missing(ledger: Ledger, ours: Sequence[Migration]) -> Iterator[Finding]:
    missing = ledger.lacks(ours)
    if missing:
        yield Finding(
            check="schema.old",
            what=f"migrations are missing: {', '.join(missing)}",
            why="a worker of this release refuses to start on an older schema",
            fix="bpc-worker migrate",
            paste="shell",
        )


def _newer(applied: Sequence[Applied], ours: Sequence[Migration]) -> Iterator[Finding]:
    versions = {migration.version for migration in ours}
    for row in applied:
        if row.version not in versions:
            works = row.former_release_works
            yield Finding(
                check="schema.newer",
                what=f"migration {row.version} is unknown to this release",
                why="the database belongs to a newer release"
                + (", which this one can work beside" if works else ", which says that this one must stop"),
                fix="pip install --upgrade bpc-worker",
                paste="shell",
                level="note" if works else "wrong",
            )


def _changed(applied: Sequence[Applied], ours: Sequence[Migration]) -> Iterator[Finding]:
    by_version = {migration.version: migration for migration in ours}
    for row in applied:
        migration = by_version.get(row.version)
        if migration is not None and migration.checksum != row.checksum:
            yield Finding(
                check="schema.checksum",
                what=f"migration {row.version} is not the text that was applied "
                f"(database {row.checksum[:12]}…, this release {migration.checksum[:12]}…)",
                why="a worker refuses to start. If no object below differs, only the words did: note the"
                " checksum; else restore the original file",
                fix=f"UPDATE schema_migrations SET checksum = {literal(migration.checksum)}"  # noqa: S608
                f" WHERE version = {literal(row.version)};",
            )


def _open(case: Case) -> Iterator[Finding]:
    """`migrate` closes the schema to all; somebody may have opened it since."""
    creators = [str(row["grantee"]) for row in case.rows("creators")]
    if creators:
        yield Finding(
            check="schema.open",
            what=f"{', '.join(creators)} may create objects in the schema public",
            why="a function of theirs can get in the way of ours, and then runs with the owner's"
            " rights: whoever may call one of our functions becomes bpc_owner",
            fix=f"REVOKE CREATE ON SCHEMA public FROM {', '.join(creators)};",
        )


def drift(case: Case) -> Iterator[Finding]:
    """Objects that are missing, changed or not ours, grouped so that one paste fixes one thing."""
    case.connection.execute("SELECT set_config('search_path', 'public', true)")
    found = list(differences(expected(), things(case.rows)))
    roots = {each.thing.part_of for each in found if each.thing.kind in _ROOTS and each.sort == "missing"}

    def group(each: Difference) -> tuple[str, str, str]:
        if each.thing.part_of in roots and each.sort == "missing":
            return each.sort, "root", each.thing.part_of
        several = each.thing.kind == "grant"
        return each.sort, each.thing.kind, each.thing.part_of if several else each.thing.name

    order = {key: place for place, key in reversed(list(enumerate(map(group, found))))}
    for _, each in groupby(sorted(found, key=lambda one: order[group(one)]), key=group):
        yield _finding(list(each))


def _finding(group: Sequence[Difference]) -> Finding:
    first = group[0]
    kind = first.thing.kind
    names = ", ".join(dict.fromkeys(each.thing.name for each in group if each.thing.kind == kind))
    state = f": {first.found}" if first.sort == "changed" and kind != "function" else ""
    words = {"missing": "is missing", "changed": f"is not as it was made{state}", "extra": "is not ours"}
    return Finding(
        check=f"schema.{first.sort}_{kind.replace(' ', '_')}",
        what=f"{kind} {names} {words[first.sort]}",
        why=_EXTRA if first.sort == "extra" and kind != "grant" else _WHY.get(kind, _OTHERS),
        fix=_pasted(group),
    )


def _pasted(group: Sequence[Difference]) -> str:
    statements = [f"{each.fix};" for each in group]
    return "\n".join(["SET ROLE bpc_owner;", *statements, "RESET ROLE;"] if _by_owner(group) else statements)


def _by_owner(group: Sequence[Difference]) -> bool:
    """As the migrations do it, so that what is made belongs to the owner."""
    first = group[0].thing
    return first.kind not in _NOT_THE_OWNERS and first.part_of not in {"schema_migrations", "schema public"}
