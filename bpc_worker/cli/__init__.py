"""The command line: one module or package per group of commands, each of which registers its own."""

import click

from bpc_worker import __version__
from bpc_worker.cli._common.commands import Group

_EXIT_CODES = """\b
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 69 no database.
"""


@click.group(
    cls=Group,
    modules=(
        "attachments", "audit", "builds", "carrier", "config", "database", "dead", "demo", "doctor",
        "documents", "enqueue", "imports", "jobs", "keys", "lives", "models", "operators", "passport",
        "pauses", "products", "public", "registry", "rules", "serials", "serve", "snapshots", "tenants",
        "tokens", "watch", "webhook", "worker",
    ),
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(__version__, prog_name="bpc-worker")
def main() -> None:
    """Signed battery passports from suppliers' documents, as background jobs that are never lost."""
