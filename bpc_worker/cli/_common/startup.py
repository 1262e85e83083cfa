"""What a command begins with: settings, a database, handlers; and words for what goes wrong there."""

import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_NOT_FOUND,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    fail,
    printable,
    refused,
)

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.registry import Registry

T = TypeVar("T")


def load_settings(config_path: str | None, **flags: object) -> "Settings":
    """The effective settings, with logs as they say; ConfigError with all that is wrong."""
    import socket

    from bpc_worker.config import load as config
    from bpc_worker.observability import log
    from bpc_worker.processes import hardening

    hardening.close_memory()  # before there is anything to see in it but the environment
    given = {name.replace("__", "."): value for name, value in flags.items() if value is not None}
    settings = config.load(
        env=os.environ,
        flags=given,
        config_path=config_path,
        default_worker_id=f"{socket.gethostname()}-{os.getpid()}",
    )
    log.configure(level=settings.log.level, fmt=settings.log.format)
    return settings


def settings_from(config_path: str | None, **flags: object) -> "Settings":
    from bpc_worker.config import load as config

    try:
        settings = load_settings(config_path, **flags)
    except config.ConfigError as error:
        problems = (f"  {problem}" for problem in error.problems)
        fail(
            EXIT_USAGE,
            "the configuration is not valid:",
            *problems,
            "`bpc-worker config --example` shows all",
        )
    for hint in settings.hints:
        click.echo(f"bpc-worker: {hint}", err=True)
    return settings


def keep_secrets() -> None:
    """In a process that lives long and runs other people's handlers; the settings have been read."""
    from bpc_worker.config.settings import KEYS
    from bpc_worker.processes import hardening

    hardening.forget(name for key in KEYS if key.secret for name in key.variables)


@contextmanager
def database_url(settings: "Settings") -> Iterator[str]:
    """The configured database, or the embedded one, migrated, for as long as the block lasts."""
    if settings.database.url is not None:
        yield settings.database.url
        return
    from bpc_worker.postgres.embedded import database as embedded_postgres

    with refused(embedded_postgres.EmbeddedPostgresError, code=EXIT_FAILED):
        embedded = embedded_postgres.start(settings.data_dir)
    try:
        click.echo(embedded.notice, err=True)
        migrate_now(embedded.url, tell=False)
        yield embedded.url
    finally:
        embedded.release()


def finished(work: Coroutine[object, object, T]) -> T:
    """Its result; asyncio is imported here, because that takes longer than all of --help."""
    import asyncio

    return asyncio.run(work)


@contextmanager
def explained(role: str = "bpc_app") -> Iterator[None]:
    """Errors of the work inside, as words and an exit code; `role` is what the login needs for it."""
    from bpc_worker.jobs.errors import Code, JobError, SchemaMismatch, Unavailable

    exits: dict[str, int] = {Code.NOT_FOUND: EXIT_NOT_FOUND, Code.VALIDATION_ERROR: EXIT_USAGE}
    try:
        yield
    except SchemaMismatch as error:
        remedy = f"GRANT {role} TO the login" if error.sqlstate == "42501" else "run `bpc-worker migrate`"
        fail(EXIT_FAILED, f"the database refuses: {error.message}", remedy)
    except Unavailable as error:
        fail(
            EXIT_UNREACHABLE,
            error.message,
            "check BPC_DATABASE_URL, and that the server runs; `bpc-worker doctor` tells more",
        )
    except JobError as error:
        more = () if error.code in exits else (f"`bpc-worker explain {error.code}` tells what to do",)
        fail(exits.get(error.code, EXIT_FAILED), printable(str(error)), *more)


def installed_handlers() -> "Registry":
    from bpc_worker import registry

    try:
        return registry.load()
    except registry.RegistryError as error:
        fail(EXIT_USAGE, "the installed handlers cannot be used:", *(f"  {line}" for line in error.problems))


def _applying(version: str) -> None:
    click.echo(f"applying {version}", err=True)


def migrate_now(url: str, *, tell: bool = True) -> list[str]:
    import psycopg

    from bpc_worker.jobs.errors import Permanent
    from bpc_worker.observability.log import redact
    from bpc_worker.postgres.migrate import migrate

    try:
        return migrate(url, tell=_applying if tell else lambda _: None)
    except Permanent as error:
        fail(EXIT_FAILED, error.message)
    except psycopg.errors.InsufficientPrivilege as error:
        fail(
            EXIT_FAILED,
            f"the login may not migrate: {error.diag.message_primary}",
            "migrate as a login with CREATEROLE that owns the database (BPC_MIGRATE_DATABASE_URL),",
            "or let an administrator create the roles of sql/migrations/0101_roles.sql first",
        )
    except psycopg.OperationalError as error:
        said = redact(str(error).splitlines()[0])
        fail(EXIT_UNREACHABLE, f"no database: {said}", "`bpc-worker doctor` tells what to do")
