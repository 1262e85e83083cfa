"""Apply sql/migrations in order, once each, under a lock; and tell whether a schema fits this release.

Functions live in sql/functions. A file whose text the database never had is applied as a whole, after the
migrations; a migration that stands on functions names their files, and they are applied with it.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.postgres.errors import read_url
from bpc_worker.postgres.sql_files import query, scripts

SCHEMA = "public"

_LOCK = 0x6270635F6D6967  # "bpc_mig"
_LEDGER = b"""
CREATE TABLE IF NOT EXISTS schema_migrations (
  version              text PRIMARY KEY,
  checksum             text NOT NULL,
  former_release_works boolean NOT NULL,
  applied_at           timestamptz NOT NULL DEFAULT now()
)
"""
_ROLES = "0101_roles"  # runs as the login itself; everything later is owned by bpc_owner
_OLDER_BUILDS = ("bpc-core-1",)
_FUNCTIONS_FIRST = re.compile(r"^-- Functions first: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    version: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def in_schema(self, schema: str) -> bytes:
        return self.text.replace("{schema}", sql.Identifier(schema).as_string()).encode()


@dataclass(frozen=True, slots=True)
class Migration(Script):
    @property
    def former_release_works(self) -> bool:
        """Every file says whether the release before it can go on beside it (a rolling deploy)."""
        if "-- Former release: keeps working." in self.text:
            return True
        if "-- Former release: must stop." in self.text:
            return False
        raise ValueError(f"migration {self.version} does not say what becomes of the former release")

    @property
    def functions_first(self) -> list[str]:
        """The files of functions that its tables, triggers and policies stand on."""
        named = _FUNCTIONS_FIRST.search(self.text)
        return named[1].split(", ") if named is not None else []


@dataclass(frozen=True, slots=True)
class Applied:
    version: str
    checksum: str
    former_release_works: bool


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a database has had: migrations, and (name, checksum) of every text of a file of functions."""

    migrations: Sequence[Applied]
    functions: frozenset[tuple[str, str]] = frozenset()

    def lacks(self, ours: Sequence[Migration]) -> list[str]:
        """What this release has and the database has not had.

        A function that was ours once and is another one now is a newer release's, and left alone.
        """
        have = {row.version for row in self.migrations}
        missing = [migration.version for migration in ours if migration.version not in have]
        return missing + [f"functions/{each.version}" for each in _never_had(self.functions)]


def known() -> list[Migration]:
    return [Migration(name, text) for name, text in scripts("migrations")]


def known_functions() -> list[Script]:
    return [Script(name, text) for name, text in scripts("functions")]


def migrate(url: str, *, schema: str = SCHEMA, tell: Callable[[str], None] = lambda _: None) -> list[str]:
    """Bring the database up to date; what was applied. psycopg.Error when it cannot be."""
    read_url(url)
    with psycopg.connect(url, autocommit=True, application_name="bpc-worker migrate") as connection:
        connection.execute("SET lock_timeout = '60s'")
        connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
        connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])  # one at a time; ends with the session
        connection.execute(_LEDGER)
        applied = _applied(connection)
        problem = _older_passports(connection) or drift(applied, known()) or _open_to_all(connection, schema)
        if problem is not None:
            raise Permanent(Code.CONFIG_MISSING, problem)
        have = {row.version for row in applied}
        missing = [migration for migration in known() if migration.version not in have]
        for migration in missing:
            tell(migration.version)
            _apply(connection, migration, schema)
        return [migration.version for migration in missing] + _make_functions(connection, schema, tell)


def has_drifted(url: str) -> bool:
    """Whether `migrate` would refuse the database, as other migrations than these have made it."""
    with psycopg.connect(url, autocommit=True) as connection:
        has_ledger = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone()
        return has_ledger == (True,) and drift(_applied(connection), known()) is not None


def _applied(connection: psycopg.Connection) -> list[Applied]:
    return [Applied(*row) for row in connection.execute(query("schema/applied")).fetchall()]


def _older_passports(connection: psycopg.Connection) -> str | None:
    """Passports in formats that this release neither reads nor makes."""
    if connection.execute("SELECT to_regclass('passport_versions') IS NULL").fetchone() == (True,):
        return None
    found = connection.execute(query("schema/older_passports"), {"build_ids": [*_OLDER_BUILDS]}).fetchone()
    if found is None:
        return None
    count, build_id = found
    return (
        f"the database holds {count} passport versions of {build_id}, never released, whose formats this "
        "release does not read, and no migration leads from them to the present ones; nothing was changed. "
        "Keep what you need of it with pg_dump, make a new database, run `bpc-worker migrate` there and "
        "build the passports again"
    )


def _open_to_all(connection: psycopg.Connection, schema: str) -> str | None:
    """Close the schema: who can create in it can put a table or a function of his own in the way of ours."""
    may_create = "SELECT has_schema_privilege('public', %s, 'CREATE')"
    if connection.execute(may_create, [schema]).fetchone() == (False,):
        return None
    revoke = sql.SQL("REVOKE CREATE ON SCHEMA {} FROM PUBLIC").format(sql.Identifier(schema))
    connection.execute(revoke)  # only a warning when we may not
    if connection.execute(may_create, [schema]).fetchone() == (False,):
        return None
    return (
        f"everybody may create objects in the schema {schema}, and this login may not change that; "
        f"as the owner of the schema or a superuser: {revoke.as_string()}"
    )


def _apply(connection: psycopg.Connection, migration: Migration, schema: str) -> None:
    first = [each for each in known_functions() if each.version in migration.functions_first]
    with connection.transaction():
        if migration.version != _ROLES:
            connection.execute("SET LOCAL ROLE bpc_owner")
        _execute(connection, first, schema)
        connection.execute(migration.in_schema(schema))
        connection.execute(
            "INSERT INTO schema_migrations (version, checksum, former_release_works) VALUES (%s, %s, %s)",
            [migration.version, migration.checksum, migration.former_release_works],
        )


def _make_functions(connection: psycopg.Connection, schema: str, tell: Callable[[str], None]) -> list[str]:
    """All that the database has never had, at once: they call one another."""
    with connection.transaction():
        connection.execute("SET LOCAL ROLE bpc_owner")
        new = _never_had(connection.execute(query("schema/functions")).fetchall())
        if new:
            tell(f"functions: {', '.join(each.version for each in new)}")
        _execute(connection, new, schema)
    return [f"functions/{each.version}" for each in new]


def _never_had(recorded: Iterable[tuple[str, str]]) -> list[Script]:
    had = set(recorded)
    return [each for each in known_functions() if (each.version, each.checksum) not in had]


def _execute(connection: psycopg.Connection, functions: Sequence[Script], schema: str) -> None:
    connection.execute("SET LOCAL check_function_bodies = off")  # they may name what comes later
    for each in functions:
        connection.execute(each.in_schema(schema))
        connection.execute(
            "INSERT INTO schema_functions (name, checksum) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [each.version, each.checksum],
        )


def drift(applied: Sequence[Applied], ours: Sequence[Migration]) -> str | None:
    """What is wrong when a migration of the past is not what this release knows under that name."""
    earlier = earlier_baseline(applied)
    if earlier is not None:
        return (
            f"the database was made by an earlier baseline of the schema ({earlier}), never released, "
            "and no migration leads from it to this one; nothing was changed. Keep what you need of it with "
            "pg_dump, make a new database and run `bpc-worker migrate` there (if it is the embedded one: "
            "`bpc-worker db stop`, then move its data folder away)"
        )
    by_version = {migration.version: migration for migration in ours}
    for row in applied:
        known_one = by_version.get(row.version)
        if known_one is not None and known_one.checksum != row.checksum:
            return (
                f"migration {row.version} was changed after it had been applied "
                f"(database {row.checksum[:12]}…, this release {known_one.checksum[:12]}…); "
                "restore the original file: a migration is never edited"
            )
    return None


def earlier_baseline(applied: Sequence[Applied]) -> str | None:
    """From which migration to which, when the database was made before the present ones were written."""
    old = [row.version for row in applied if row.version < _ROLES]
    return f"{old[0]} to {old[-1]}" if old else None


def schema_problem(ledger: Ledger, ours: Sequence[Migration]) -> str | None:
    """Why this release must not run on that schema; None when it may."""
    changed = drift(ledger.migrations, ours)
    if changed is not None:
        return changed
    missing = ledger.lacks(ours)
    if missing:
        return (
            f"the database schema is older than this release (missing: {', '.join(missing)}); "
            "run `bpc-worker migrate`, or start with --migrate"
        )
    ours_versions = {migration.version for migration in ours}
    breaking = [
        row.version
        for row in ledger.migrations
        if row.version not in ours_versions and not row.former_release_works
    ]
    if breaking:
        return (
            f"the database schema is newer than this release and says that it must stop "
            f"({', '.join(breaking)}); upgrade bpc-worker"
        )
    return None
