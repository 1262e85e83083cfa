"""The commands of a worker: run it, run what is due once, ask how it is."""

from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, refused
from bpc_worker.cli._common.startup import (
    database_url,
    installed_handlers,
    keep_secrets,
    migrate_now,
    settings_from,
)
from bpc_worker.cli.serve import DOORS, doors_beside

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.engine.background import Duty
    from bpc_worker.registry import Registry


@main.command()
@click.option(
    "--role", type=click.Choice(["worker", "producer", "reaper", "all"]), default="all", show_default=True
)
@click.option("--migrate", "with_migrations", is_flag=True, help="Bring the schema up to date first.")
@click.option("--serve", "serves", is_flag=True, help="Open the doors of `bpc-worker serve`, too.")
@click.option("--concurrency", type=int, help="Jobs at a time (worker.concurrency).")
@click.option("--suspects", is_flag=True, hidden=True)  # a worker starts it so, with orders on a pipe
@config_option
def run(
    role: str,
    *,
    with_migrations: bool,
    serves: bool,
    concurrency: int | None,
    suspects: bool,
    config_path: str | None,
) -> None:
    r"""Run a worker until SIGTERM.

    \b
    Example: BPC_DATABASE_URL=postgresql://… BPC_QUEUE_URL=amqp://… bpc-worker run
    """
    if suspects:
        _serve_suspects()
    settings = settings_from(config_path, worker__concurrency=concurrency)
    _serve(settings, role=role, with_migrations=with_migrations, until_empty=False, serves=serves)


@main.command()
@config_option
def once(config_path: str | None) -> None:
    r"""Run everything that is due now, then exit.

    \b
    Example: bpc-worker once
    """
    _serve(settings_from(config_path), role="worker", with_migrations=False, until_empty=True)


def _serve(
    settings: "Settings", *, role: str, with_migrations: bool, until_empty: bool, serves: bool = False
) -> NoReturn:
    from bpc_worker.app import composition
    from bpc_worker.engine.worker import SchemaRefusedError
    from bpc_worker.processes.confinement import AccountError
    from bpc_worker.wiring import child_account

    keep_secrets()
    with refused(AccountError):
        child_account(settings)
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
            serves=doors_beside(settings, handlers, url, DOORS) if serves else None,
        )
        if with_migrations:
            migrate_now(settings.database.migrate_url or url)
        with refused(SchemaRefusedError), refused(composition.PortTakenError, code=EXIT_FAILED):
            raise SystemExit(composition.run(settings, handlers, url, plan))


def _serve_suspects() -> NoReturn:
    import msgspec

    from bpc_worker.app import suspects
    from bpc_worker.observability import log

    try:
        starter, orders = suspects.hear()
    except (OSError, msgspec.DecodeError):
        fail(
            EXIT_USAGE,
            "--suspects is how a worker starts a process of its own, and no command for people",
            "`bpc-worker run` starts it where it is needed",
        )
    log.configure(level=orders.settings.log.level, fmt=orders.settings.log.format)
    keep_secrets()
    raise SystemExit(suspects.run(starter, orders, installed_handlers()))


def _producer(settings: "Settings", handlers: "Registry", url: str, inbox: str | None) -> "Duty | None":
    if inbox is None:
        return None
    from bpc_worker.inbox.duty import duty

    return duty(settings, handlers, url, inbox)


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
