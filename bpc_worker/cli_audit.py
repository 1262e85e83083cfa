"""The commands that check the audit trail, and export where it ends."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from bpc_worker.cli_parts import (
    EXIT_FAILED,
    EXIT_USAGE,
    Group,
    database_url,
    explained,
    fail,
    finished,
    installed_handlers,
    printable,
    settings_from,
)
from bpc_worker.cli_session import config_option, tenant_option

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config import Settings
    from bpc_worker.owner.audit import Kept, Report


@click.group(cls=Group)
def audit() -> None:
    """The audit trail: is it still what was written?"""


@audit.command("verify")
@click.option("--tenant", "tenant", help="Id or name; default: every tenant.")
@click.option(
    "--against", type=click.Path(path_type=Path), metavar="CHECKPOINT",
    help="A file of `audit checkpoint` that was kept elsewhere.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@config_option
def verify(*, tenant: str | None, against: Path | None, as_json: bool, config_path: str | None) -> None:
    r"""Recompute every hash of every chain of events, and say where the first thing is wrong.

    With a checkpoint, also whether every chain in it is still there, as long, and with the same events.

    Exit codes: 0 everything holds, 1 something does not, 2 the checkpoint cannot be read, 3 no such tenant.

    \b
    Example: bpc-worker audit verify --tenant acme --against acme-2027-03-01.json
    """
    settings = settings_from(config_path)
    with database_url(settings) as url, explained():
        if against is None:
            reports = finished(_verify(settings, url, tenant, None))
        else:
            reports = _verify_against(settings, url, tenant, against)
    if as_json:
        click.echo(json.dumps({"valid": _valid(reports), "tenants": [_about(each) for each in reports]}))
    else:
        for report in reports:
            _show(report)
        if not reports:
            click.echo("there are no tenants")
    raise SystemExit(0 if _valid(reports) else EXIT_FAILED)


def _verify_against(settings: "Settings", url: str, tenant: str | None, against: Path) -> "list[Report]":
    from bpc_worker.owner.audit import read_checkpoint

    try:
        with against.open("rb") as file:
            kept = read_checkpoint(file)
            return finished(_verify(settings, url, tenant or str(kept.taken.tenant_id), kept))
    except OSError as error:
        fail(
            EXIT_USAGE,
            f"--against {against}: {error.strerror or error}",
            "name a checkpoint that can be read",
        )


async def _verify(settings: "Settings", url: str, tenant: str | None, kept: "Kept | None") -> "list[Report]":
    from bpc_worker.owner import audit as owners
    from bpc_worker.owner.queue import list_tenants
    from bpc_worker.owner.session import open_owner

    registry, reports = installed_handlers(), []
    named = [tenant] if tenant else [str(each.tenant_id) for each in await list_tenants(settings, url)]
    for each in named:
        async with open_owner(settings, registry, url, each) as owner:
            reports.append(await owners.verify(owner, kept))
    return reports


def _valid(reports: "list[Report]") -> bool:
    return not any(report.broken for report in reports)


def _about(report: "Report") -> dict[str, object]:
    from msgspec import to_builtins

    found: dict[str, object] = to_builtins(report)
    return found


def _show(report: "Report") -> None:
    for finding in report.findings:
        chain = f"{finding.aggregate_type} {finding.aggregate_id} version {finding.aggregate_version}"
        said = f"{finding.flaw}: expected {finding.expected}, found {finding.found}"
        click.echo(f"BROKEN  {printable(report.tenant)}  {chain}  {printable(said)}")
    verdict = f"{report.broken} broken" if report.broken else "all hold"
    click.echo(f"{printable(report.tenant)}: {report.chains} chains, {report.events} events: {verdict}")


@audit.command("checkpoint")
@tenant_option
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE")
@config_option
def checkpoint(*, tenant: str, out: Path, config_path: str | None) -> None:
    r"""Write a signed list of where every chain of a tenant ends, to be kept outside the database.

    Whoever can change the database can delete a chain with its head; `audit verify --against` notices.

    \b
    Example: bpc-worker audit checkpoint --tenant acme --out acme-2027-03-01.json
    """
    from bpc_worker.adapters.whole_files import new_file

    settings = settings_from(config_path)
    try:
        with database_url(settings) as url, explained(), new_file(out) as file:
            kept = finished(_checkpoint(settings, url, tenant, file))
    except FileExistsError:
        fail(
            EXIT_USAGE, f"--out {out} exists already: a checkpoint is never overwritten", "name another file"
        )
    except OSError as error:
        fail(EXIT_FAILED, f"--out {out}: {error.strerror or error}", "name a file that can be written")
    taken = kept.taken
    click.echo(f"{kept.heads} heads of {taken.taken_at.isoformat()}, signed with key {taken.signing_key_id}")


async def _checkpoint(settings: "Settings", url: str, tenant: str, file: BinaryIO) -> "Kept":
    from bpc_worker.owner.audit import write_checkpoint
    from bpc_worker.owner.session import open_owner

    async with open_owner(settings, installed_handlers(), url, tenant) as owner:
        return await write_checkpoint(owner, file)
