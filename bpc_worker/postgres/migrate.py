"""Apply sql/migrations in order, once each, under a lock; and tell whether a schema fits this release."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.postgres.errors import read_url
from bpc_worker.postgres.sql_files import migrations

_LOCK = 0x6270635F6D6967  # "bpc_mig"
_LEDGER = b"""
CREATE TABLE IF NOT EXISTS schema_migrations (
  version              text PRIMARY KEY,
  checksum             text NOT NULL,
  former_release_works boolean NOT NULL,
  applied_at           timestamptz NOT NULL DEFAULT now()
)
"""
_ROLES = "0001_roles"  # runs as the login itself; everything later is owned by bpc_owner


@dataclass(frozen=True, slots=True)
class Migration:
    version: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def former_release_works(self) -> bool:
        """Every file says whether the release before it can go on beside it (a rolling deploy)."""
        if "-- Former release: keeps working." in self.text:
            return True
        if "-- Former release: must stop." in self.text:
            return False
        raise ValueError(f"migration {self.version} does not say what becomes of the former release")


@dataclass(frozen=True, slots=True)
class Applied:
    version: str
    checksum: str
    former_release_works: bool


def known() -> list[Migration]:
    return [Migration(name.removesuffix(".sql"), text) for name, text in migrations()]


def migrate(url: str, *, tell: Callable[[str], None] = lambda _: None) -> list[str]:
    """Bring the database up to date; the versions that were applied. psycopg.Error when it cannot be."""
    read_url(url)
    with psycopg.connect(url, autocommit=True, application_name="bpc-worker migrate") as connection:
        connection.execute("SET lock_timeout = '60s'")
        connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])  # one at a time; ends with the session
        connection.execute(_LEDGER)
        rows = connection.execute(
            "SELECT version, checksum, former_release_works FROM schema_migrations ORDER BY version"
        ).fetchall()
        problem = drift([Applied(*row) for row in rows], known())
        if problem is not None:
            raise Permanent(Code.CONFIG_MISSING, problem)
        have = {row[0] for row in rows}
        missing = [migration for migration in known() if migration.version not in have]
        for migration in missing:
            tell(migration.version)
            _apply(connection, migration)
        return [migration.version for migration in missing]


def _apply(connection: psycopg.Connection, migration: Migration) -> None:
    with connection.transaction():
        if migration.version != _ROLES:
            connection.execute("SET LOCAL ROLE bpc_owner")
        connection.execute(migration.text.encode())
        connection.execute(
            "INSERT INTO schema_migrations (version, checksum, former_release_works) VALUES (%s, %s, %s)",
            [migration.version, migration.checksum, migration.former_release_works],
        )


def drift(applied: Sequence[Applied], ours: Sequence[Migration]) -> str | None:
    """What is wrong when a migration of the past is not what this release knows under that name."""
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


def schema_problem(applied: Sequence[Applied], ours: Sequence[Migration]) -> str | None:
    """Why this release must not run on that schema; None when it may."""
    changed = drift(applied, ours)
    if changed is not None:
        return changed
    have = {row.version for row in applied}
    missing = [migration.version for migration in ours if migration.version not in have]
    if missing:
        return (
            f"the database schema is older than this release (missing: {', '.join(missing)}); "
            "run `bpc-worker migrate`, or start with --migrate"
        )
    ours_versions = {migration.version for migration in ours}
    breaking = [
        row.version for row in applied if row.version not in ours_versions and not row.former_release_works
    ]
    if breaking:
        return (
            f"the database schema is newer than this release and says that it must stop "
            f"({', '.join(breaking)}); upgrade bpc-worker"
        )
    return None
