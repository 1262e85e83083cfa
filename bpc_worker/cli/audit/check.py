"""The commands that check the audit trail, and export what it holds now under a signature."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from bpc_worker.cli._common.parts import (
    EXIT_FAILED,
    Group,
    database_url,
    explained,
    finished,
    installed_handlers,
    printable,
    settings_from,
)
from bpc_worker.cli._common.session import config_option, counted, json_option, show_json, tenant_option
from bpc_worker.cli.audit.files import FILE, reading, writing

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.pipeline.audit.checkpoints import Kept
    from bpc_worker.pipeline.audit.findings import Report


@click.group(cls=Group)
def audit() -> None:
    """The audit trail: is it still what was written?"""


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
    with database_url(settings) as url, explained():
        if against is None:
            reports = finished(_verify(settings, url, tenant, None))
        else:
            with reading("--against", against) as kept:
                asked = tenant or str(kept.taken.tenant_id)
                reports = finished(_verify(settings, url, asked, kept))
    valid = all(report.valid for report in reports)
    if as_json:
        show_json({"valid": valid, "tenants": [_about(each) for each in reports]})
    else:
        for report in reports:
            _show(report)
        if not reports:
            click.echo("there are no tenants")
    raise SystemExit(0 if valid else EXIT_FAILED)


async def _verify(settings: "Settings", url: str, tenant: str | None, kept: "Kept | None") -> "list[Report]":
    from bpc_worker.pipeline.audit.verify import verify as verified
    from bpc_worker.pipeline.session import open_owner
    from bpc_worker.pipeline.tenants import list_tenants

    registry, reports = installed_handlers(), []
    named = [tenant] if tenant else [str(each.tenant_id) for each in await list_tenants(settings, url)]
    for each in named:
        async with open_owner(settings, registry, url, each) as owner:
            reports.append(await verified(owner, kept))
    return reports


def _about(report: "Report") -> dict[str, object]:
    from msgspec import to_builtins

    found: dict[str, object] = to_builtins(report)
    return found


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


@audit.command("checkpoint")
@tenant_option
@click.option("--out", type=FILE, required=True, metavar="FILE")
@json_option("What was written, as one JSON object.")
@config_option
def checkpoint(*, tenant: str, out: Path, as_json: bool, config_path: str | None) -> None:
    r"""Write where every chain of a tenant ends and the root of the tree over all its events, signed.

    It is to be kept outside the database: whoever can change that can delete a chain with its head, and
    `audit verify --against` notices. `audit prove-inclusion` proves single events against it.

    \b
    Example: bpc-worker audit checkpoint --tenant acme --out acme-2027-03-01.json
    """
    settings = settings_from(config_path)
    with database_url(settings) as url, explained(), writing(out, "a checkpoint") as file:
        kept = finished(_checkpoint(settings, url, tenant, file))
    taken, statement = kept.taken, kept.statement
    assert statement is not None  # noqa: S101 - what is written now has a tree
    if as_json:
        show_json(statement.signed(kept.signature) | {"sha256": kept.hash.hex(), "file": str(out)})
        return
    sizes = f"{counted(kept.heads, 'head')}, {counted(statement.tree.size, 'event')}"
    click.echo(f"{sizes} of {taken.taken_at.isoformat()}, signed with key {taken.signing_key_id}")


async def _checkpoint(settings: "Settings", url: str, tenant: str, file: BinaryIO) -> "Kept":
    from bpc_worker.pipeline.audit.checkpoints import write_checkpoint
    from bpc_worker.pipeline.session import open_owner

    async with open_owner(settings, installed_handlers(), url, tenant) as owner:
        return await write_checkpoint(owner, file)
