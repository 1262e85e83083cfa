"""The command that queues a job."""

import sys

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, tenant_option
from bpc_worker.cli._common.output import EXIT_USAGE, fail
from bpc_worker.cli._common.sessions import in_database
from bpc_worker.cli._common.startup import explained, installed_handlers, settings_from


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
    from bpc_worker.pipeline import tenants

    settings, registry = settings_from(config_path), installed_handlers()
    with explained():
        job = NewJob(
            type=job_type,
            payload=tenants.payload_for(registry, job_type, _payload_text(payload)),
            queue=queue,
            priority=tenants.priority_from(priority),
            delay_seconds=delay,
            idempotency_key=key,
            max_attempts=max_attempts,
        )
    done = in_database(settings, lambda url: tenants.enqueue(settings, registry, url, tenant=tenant, job=job))
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
