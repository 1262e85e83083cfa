"""The commands about the database itself: its schema, and the embedded one of development."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option
from bpc_worker.cli._common.output import EXIT_FAILED, refused
from bpc_worker.cli._common.startup import database_url, migrate_now, settings_from


@main.command()
@config_option
def migrate(config_path: str | None) -> None:
    r"""Bring the database schema up to date.

    \b
    Example: BPC_MIGRATE_DATABASE_URL=postgresql://owner@… bpc-worker migrate
    """
    settings = settings_from(config_path)
    with database_url(settings) as url:
        applied = migrate_now(settings.database.migrate_url or url)
    migrations = [name for name in applied if not name.startswith("functions/")]
    if migrations:
        click.echo(f"{len(migrations)} migrations applied")
    else:
        click.echo(f"{len(applied)} files of functions applied" if applied else "the schema is up to date")


@main.group()
def db() -> None:
    """The embedded PostgreSQL of development."""


@db.command("stop")
@config_option
def db_stop(config_path: str | None) -> None:
    r"""Stop the embedded PostgreSQL, whoever uses it.

    \b
    Example: bpc-worker db stop
    """
    from bpc_worker.postgres.embedded import database as embedded_postgres

    with refused(embedded_postgres.EmbeddedPostgresError, code=EXIT_FAILED):
        stopped = embedded_postgres.stop(settings_from(config_path).data_dir)
    click.echo("stopped" if stopped else "it was not running")
