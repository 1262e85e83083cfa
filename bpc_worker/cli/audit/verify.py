"""The command that checks the audit trail."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import FILE, config_option, json_option
from bpc_worker.cli._common.output import EXIT_FAILED, printable, show_json
from bpc_worker.cli._common.sessions import in_database
from bpc_worker.cli._common.startup import explained, installed_handlers, settings_from
from bpc_worker.cli.audit import audit
from bpc_worker.cli.audit.files import reading

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.pipeline.audit.checkpoints import Kept
    from bpc_worker.pipeline.audit.findings import Report


@audit.command("verify")
@click.option("--tenant", "tenant", help="Id or name; default: every tenant.")
@click.option(
    "--against", type=FILE, metavar="CHECKPOINT", help="A file of `audit checkpoint` that was kept elsewhere."
)
@json_option("One JSON object.")
@config_option
def verify(*, tenant: str | None, against: Path | None, as_json: bool, config_path: str | None) -> None:
    r"""Recompute every hash of every chain of events, and say where the first thing is wrong.

    With a checkpoint, also whether every chain in it is still there, as long, and with the same events, and
    whether its tree is still the beginning of the one that the database has.

    Exit codes: 0 everything holds, 1 something does not, 2 the checkpoint cannot be read, 3 no such tenant.

    \b
    Example: bpc-worker audit verify --tenant acme --against acme-2027-03-01.json
    """
    settings = settings_from(config_path)
    with explained(), nullcontext() if against is None else reading("--against", against) as kept:
        asked = tenant or (None if kept is None else str(kept.taken.tenant_id))
        reports = in_database(settings, lambda url: _verify(settings, url, asked, kept))
    valid = all(report.valid for report in reports)
    if as_json:
        from msgspec import to_builtins

        show_json({"valid": valid, "tenants": to_builtins(reports)})
    else:
        for report in reports:
            _show(report)
        if not reports:
            click.echo("there are no tenants")
    raise SystemExit(0 if valid else EXIT_FAILED)


async def _verify(settings: "Settings", url: str, tenant: str | None, kept: "Kept | None") -> "list[Report]":
    from bpc_worker.pipeline.audit.verify import verify as verified
    from bpc_worker.pipeline.session import open_pipeline
    from bpc_worker.pipeline.tenants import list_tenants

    registry, reports = installed_handlers(), []
    named = [tenant] if tenant else [str(each.tenant_id) for each in await list_tenants(settings, url)]
    for each in named:
        async with open_pipeline(settings, registry, url, each) as pipeline:
            reports.append(await verified(pipeline, kept))
    return reports


def _show(report: "Report") -> None:
    tenant = printable(report.tenant)
    for finding in report.findings:
        chain = f"{finding.aggregate_type} {finding.aggregate_id} version {finding.aggregate_version}"
        said = f"{finding.flaw}: expected {finding.expected}, found {finding.found}"
        click.echo(f"BROKEN  {tenant}  {chain}  {printable(said)}")
    for leaf in report.leaf_findings:
        said = f"{leaf.flaw}: expected {leaf.expected}, found {leaf.found}"
        click.echo(f"BROKEN  {tenant}  leaf {leaf.leaf_index}  {said}")
    verdict = "all hold"
    if not report.valid:
        verdict = f"{report.broken} broken" if report.broken else "the tree is broken"
    click.echo(f"{tenant}: {report.chains} chains, {report.events} events: {verdict}")
