"""The command that opens the doors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, refused
from bpc_worker.cli._common.startup import (
    database_url,
    finished,
    installed_handlers,
    keep_secrets,
    settings_from,
)

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.registry import Registry
    from bpc_worker.web.serve import Beside

DOORS = ("public", "dpp", "api", "dashboard")


@main.command()
@click.option("--doors", default=",".join(DOORS), show_default=True, help="Which to open.")
@click.option("--base-path", help="Path below which all doors are (http.base_path).")
@config_option
def serve(doors: str, base_path: str | None, config_path: str | None) -> None:
    r"""Open pages and interfaces over HTTP until SIGTERM.

    \b
    Example: bpc-worker serve --doors public,dashboard
    """
    wanted = [each.strip() for each in doors.split(",") if each.strip()]
    if not wanted or not set(wanted) <= set(DOORS):
        fail(EXIT_USAGE, f"--doors {doors}: not these", f"say --doors {','.join(DOORS)}, or some of them")
    settings = settings_from(config_path, http__base_path=base_path)
    _check_installed()
    from bpc_worker.app.composition import PortTakenError
    from bpc_worker.web import serve as doors_of

    keep_secrets()
    handlers = installed_handlers()
    with (
        database_url(settings) as url,
        refused(PortTakenError, code=EXIT_FAILED),
        refused(doors_of.UnlockedError),
    ):
        raise SystemExit(doors_of.run(settings, handlers, url, wanted))


def doors_beside(settings: "Settings", handlers: "Registry", url: str, wanted: Sequence[str]) -> "Beside":
    """The doors in a worker's process; refused before it begins."""
    _check_installed()
    from bpc_worker.web import serve as doors_of

    with refused(doors_of.UnlockedError):
        finished(doors_of.check_locks(settings, url, wanted))
    return doors_of.beside(settings, handlers, url, wanted)


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("jinja2") is None:
        fail(EXIT_USAGE, "Jinja2 is missing, which makes the pages", "pip install 'bpc-worker[web]'")
