"""The command that shows everything once, on a database of its own."""

from pathlib import Path

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option
from bpc_worker.cli._common.output import EXIT_FAILED, refused
from bpc_worker.cli._common.startup import installed_handlers, migrate_now, settings_from


@main.command()
@click.option("--chaos", is_flag=True, help="Kill a worker in the middle; another takes over.")
@click.option("--all", "every", is_flag=True, help="One of each class: car, bicycle, storage, forklift.")
@click.option("--clean", is_flag=True, help="Remove the demo's database and the files that it wrote.")
@click.option(
    "--out", default="out", show_default=True, type=click.Path(file_okay=False, path_type=Path),
    help="Where bundle, keys and picture go.",
)  # fmt: skip
@config_option
def demo(*, chaos: bool, every: bool, clean: bool, out: Path, config_path: str | None) -> None:
    r"""Watch a worker turn a battery's documents into a signed passport, then check it.

    It has a database of its own on the embedded PostgreSQL; yours is not touched.

    \b
    Example: bpc-worker demo --chaos
    """
    from bpc_worker.demo import run as show
    from bpc_worker.demo.companies import BATTERIES
    from bpc_worker.demo.files import remove_files
    from bpc_worker.demo.stage import DATABASE
    from bpc_worker.postgres.embedded import database as embedded_postgres

    settings = settings_from(config_path)
    with refused(embedded_postgres.EmbeddedPostgresError, code=EXIT_FAILED):
        embedded = embedded_postgres.start(settings.data_dir, "postgres" if clean else DATABASE)
    try:
        if clean:
            embedded.drop_database(DATABASE)
            removed = remove_files(out)
            click.echo(f"the demo's database and {removed} files in {out}/ were removed", err=True)
            raise SystemExit(0)
        click.echo(embedded.notice, err=True)
        if show.begin_anew(embedded):
            click.echo("the demo's database was made by other migrations: it is made anew", err=True)
        migrate_now(embedded.url, tell=False)
        batteries = BATTERIES if every else BATTERIES[:1]
        handlers = installed_handlers()
        raise SystemExit(show.play(settings, handlers, embedded.url, out, chaos=chaos, batteries=batteries))
    finally:
        embedded.release()
