"""The command line: parse arguments and call what does the work."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker import __version__
from bpc_worker.cli._common.parts import (
    EXIT_FAILED,
    EXIT_USAGE,
    database_url,
    explained,
    fail,
    finished,
    installed_handlers,
    keep_secrets,
    migrate_now,
    settings_from,
)
from bpc_worker.cli._common.session import config_option, tenant_option
from bpc_worker.cli.index import Index

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.engine.background import Duty
    from bpc_worker.registry import Registry

_EXIT_CODES = """\b
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 69 no database.
"""


@click.group(cls=Index, epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bpc-worker")
def main() -> None:
    """Signed battery passports from suppliers' documents, as background jobs that are never lost."""


@main.command()
@click.option(
    "--role", type=click.Choice(["worker", "producer", "reaper", "all"]), default="all", show_default=True
)
@click.option("--migrate", "with_migrations", is_flag=True, help="Bring the schema up to date first.")
@click.option("--concurrency", type=int, help="Jobs at a time (worker.concurrency).")
@config_option
def run(role: str, *, with_migrations: bool, concurrency: int | None, config_path: str | None) -> None:
    r"""Run a worker until SIGTERM.

    \b
    Example: BPC_DATABASE_URL=postgresql://… BPC_QUEUE_URL=amqp://… bpc-worker run
    """
    settings = settings_from(config_path, worker__concurrency=concurrency)
    _serve(settings, role=role, with_migrations=with_migrations, until_empty=False)


@main.command()
@config_option
def once(config_path: str | None) -> None:
    r"""Run everything that is due now, then exit.

    \b
    Example: bpc-worker once
    """
    _serve(settings_from(config_path), role="worker", with_migrations=False, until_empty=True)


def _serve(settings: "Settings", *, role: str, with_migrations: bool, until_empty: bool) -> NoReturn:
    from bpc_worker.app import composition
    from bpc_worker.engine.worker import SchemaRefusedError

    keep_secrets()
    handlers = installed_handlers()
    inbox = settings.producer.scan_dir if role in {"producer", "all"} else None
    if role == "producer" and inbox is None:
        fail(
            EXIT_USAGE,
            "the producer needs an inbox",
            "name its folder in producer.scan_dir (BPC_PRODUCER_SCAN_DIR)",
        )
    with database_url(settings) as url:
        plan = composition.Plan(
            works=role in {"worker", "all"},
            reaps=role != "producer",
            produces=_producer(settings, handlers, url, inbox),
            until_empty=until_empty,
        )
        if with_migrations:
            migrate_now(settings.database.migrate_url or url)
        try:
            code = composition.run(settings, handlers, url, plan)
        except SchemaRefusedError as error:
            fail(EXIT_USAGE, str(error))
        except composition.PortTakenError as error:
            fail(EXIT_FAILED, str(error))
    raise SystemExit(code)


def _producer(settings: "Settings", handlers: "Registry", url: str, inbox: str | None) -> "Duty | None":
    if inbox is None:
        return None
    from bpc_worker.inbox.duty import duty

    return duty(settings, handlers, url, inbox)


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


@main.command()
@click.argument("job_type")
@tenant_option
@click.option("--payload", default="{}", help="JSON, @FILE, or - for standard input.")
@click.option("--queue", help="Queue name; default: default.")
@click.option("--priority", help="0..3, or critical, high, normal, low.")
@click.option("--delay", type=click.FloatRange(0, 31_536_000), default=0.0, help="Seconds from now.")
@click.option("--key", help="Idempotency key: the same key again is the same job.")
@click.option("--max-attempts", type=click.IntRange(1, 1_000_000))
@config_option
def enqueue(  # noqa: PLR0913 - one argument per option
    job_type: str,
    *,
    tenant: str,
    payload: str,
    queue: str | None,
    priority: str | None,
    delay: float,
    key: str | None,
    max_attempts: int | None,
    config_path: str | None,
) -> None:
    r"""Queue a job, wake the workers and print its id.

    \b
    Example: bpc-worker enqueue RUN_COMMAND --tenant acme --payload '{"command": "hello"}'
    """
    from bpc_worker.jobs.model import NewJob
    from bpc_worker.pipeline import tenants as owner

    settings, registry = settings_from(config_path), installed_handlers()
    with explained():
        job = NewJob(
            type=job_type,
            payload=owner.payload_for(registry, job_type, _payload_text(payload)),
            queue=queue,
            priority=owner.priority_from(priority),
            delay_seconds=delay,
            idempotency_key=key,
            max_attempts=max_attempts,
        )
    with database_url(settings) as url, explained():
        done = finished(owner.enqueue(settings, registry, url, tenant=tenant, job=job))
    click.echo(done.job_id)
    if not done.added:
        click.echo("the idempotency key was there already: nothing was added", err=True)
    if done.not_told is not None:
        click.echo(f"the trigger was not published ({done.not_told}): polling finds the job", err=True)


def _payload_text(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    if given.startswith("@"):
        try:
            with open(given[1:], encoding="utf-8") as file:  # noqa: PTH123 - "@FILE" is not a Path yet
                return file.read()
        except (OSError, UnicodeError) as error:
            fail(EXIT_USAGE, f"--payload {given}: {error}", "name a file of JSON in UTF-8 after the @")
    return given


@main.command()
@click.option("--ready", is_flag=True, help="Ask whether it is ready, not only whether it lives.")
@config_option
def health(*, ready: bool, config_path: str | None) -> None:
    r"""Ask the worker on this machine how it is; exit code 0 when well.

    \b
    Example: bpc-worker health --ready
    """
    import http.client

    settings = settings_from(config_path)
    host = "127.0.0.1" if settings.http.host in {"0.0.0.0", "::"} else settings.http.host  # noqa: S104
    connection = http.client.HTTPConnection(host, settings.http.port, timeout=2)
    try:
        connection.request("GET", "/v1/health/ready" if ready else "/v1/health/live")
        answer = connection.getresponse()
        click.echo(answer.read().decode())
    except OSError as error:
        fail(
            EXIT_FAILED,
            f"no worker answers at {host}:{settings.http.port}: {error}",
            "start one with `bpc-worker run`, or give BPC_HTTP_HOST and BPC_HTTP_PORT of the one that runs",
        )
    finally:
        connection.close()
    raise SystemExit(0 if answer.status == http.client.OK else EXIT_FAILED)


@main.command()
@click.option("--chaos", is_flag=True, help="Kill a worker in the middle; another takes over.")
@click.option("--clean", is_flag=True, help="Remove the demo's database and the files that it wrote.")
@click.option(
    "--out", default="out", show_default=True, type=click.Path(file_okay=False, path_type=Path),
    help="Where bundle, keys and picture go.",
)  # fmt: skip
@config_option
def demo(*, chaos: bool, clean: bool, out: Path, config_path: str | None) -> None:
    r"""Watch a worker turn a battery's documents into a signed passport, then check it.

    It has a database of its own on the embedded PostgreSQL; yours is not touched.

    \b
    Example: bpc-worker demo --chaos
    """
    from bpc_worker.demo import run as show
    from bpc_worker.postgres.embedded import database as embedded_postgres

    settings = settings_from(config_path)
    try:
        embedded = embedded_postgres.start(settings.data_dir, "postgres" if clean else show.DATABASE)
    except embedded_postgres.EmbeddedPostgresError as error:
        fail(EXIT_FAILED, str(error))
    try:
        if clean:
            embedded.drop_database(show.DATABASE)
            removed = show.remove_files(out)
            click.echo(f"the demo's database and {removed} files in {out}/ were removed", err=True)
            raise SystemExit(0)
        click.echo(embedded.notice, err=True)
        if show.begin_anew(embedded):
            click.echo("the demo's database was of an earlier baseline: it is made anew", err=True)
        migrate_now(embedded.url, tell=False)
        raise SystemExit(show.play(settings, installed_handlers(), embedded.url, out, chaos=chaos))
    finally:
        embedded.release()


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

    try:
        stopped = embedded_postgres.stop(settings_from(config_path).data_dir)
    except embedded_postgres.EmbeddedPostgresError as error:
        fail(EXIT_FAILED, str(error))
    click.echo("stopped" if stopped else "it was not running")
