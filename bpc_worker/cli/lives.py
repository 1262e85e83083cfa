"""The commands about the lives of batteries: life show, waste, follow, end."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option, tenant_option
from bpc_worker.cli._common.output import json_text, show_fields, show_json, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.domain.states import LifeStatus

_SECOND = (LifeStatus.RE_USED, LifeStatus.REPURPOSED, LifeStatus.REMANUFACTURED)
_reason_option = click.option("--reason", required=True, help="Why; it stands in the audit trail.")
_RENEW = "make the version that says so with `bpc-worker passport renew {}`"


@main.group()
def life() -> None:
    """Lives of batteries: re-use, repurposing, remanufacturing, waste, recycling."""


@life.command("show")
@click.argument("passport", metavar="PASSPORT")
@tenant_option
@json_option("One JSON object.")
@config_option
def life_show(passport: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Show what became of a battery, and the passports before and after this one.

    \b
    Example: bpc-worker life show SN-000417 --tenant acme
    """
    from bpc_worker.pipeline.lives import history

    found = in_pipeline(config_path, tenant, history, passport)
    if as_json:
        show_json(found)
        return
    fields: list[tuple[str, object]] = [
        ("serial", found.passport.serial),
        ("unique identifier", found.passport.unique_identifier),
    ]
    fields += [("follows", f"{each.serial} {each.unique_identifier}") for each in found.predecessors]
    fields += [
        (each.status, f"{each.created_at:%Y-%m-%d}  {each.operator or '-'}  {each.reason}")
        for each in found.lives
    ]
    fields += [("followed by", f"{each.serial} {each.unique_identifier}") for each in found.successors]
    show_fields(fields)


@life.command("waste")
@click.argument("passport", metavar="PASSPORT")
@click.option("--operator", required=True, metavar="NAME", help="Who answers for it from now on.")
@_reason_option
@tenant_option
@config_option
def life_waste(passport: str, *, operator: str, reason: str, tenant: str, config_path: str | None) -> None:
    r"""Say that a battery has become waste: it keeps its passport, and responsibility moves.

    \b
    Example: bpc-worker life waste SN-000417 --operator "Recycling AG" --reason "end of use" --tenant acme
    """
    from bpc_worker.pipeline.lives import become_waste

    click.echo(in_pipeline(config_path, tenant, become_waste, passport, operator, reason))
    tell(_RENEW.format(passport))


@life.command("follow")
@click.argument("serial", metavar="SERIAL")
@click.option(
    "--of", "predecessors", multiple=True, required=True, metavar="PASSPORT", help="May be given often."
)
@click.option("--status", type=click.Choice([*_SECOND]), required=True, help="How it came to another life.")
@click.option("--product", required=True, metavar="IDENTIFIER", help="What it is now.")
@click.option("--operator", required=True, metavar="NAME", help="Who places it on the market.")
@click.option(
    "--document", "documents", multiple=True, metavar="ID", help="What tells of it; may be given often."
)
@_reason_option
@tenant_option
@json_option("One JSON object.")
@config_option
def life_follow(  # noqa: PLR0913 - one argument per option
    serial: str,
    *,
    predecessors: tuple[str, ...],
    status: str,
    product: str,
    operator: str,
    documents: tuple[str, ...],
    reason: str,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Make the passport of a battery's next life, under a serial of its own, and print its URL.

    It is linked to the passports of the batteries it was made from, one or several. These stay in force until
    the new one is.

    \b
    Example: bpc-worker life follow R-17 --of SN-000417 --status repurposed --product urn:example:storage
             --operator "Second Life GmbH" --reason "storage of 12 packs" --tenant acme
    """
    from bpc_worker.pipeline.lives import NewLife, begin_life

    new = NewLife(
        status=LifeStatus(status), product=product, serial=serial, operator=operator, reason=reason,
        documents=documents,
    )  # fmt: skip
    made = in_pipeline(config_path, tenant, begin_life, predecessors, new)
    click.echo(json_text(made) if as_json else made.unique_identifier)
    tell(f"{_RENEW.format(made.passport_id)} --rules RULES --law-date DAY")


@life.command("end")
@click.argument("passport", metavar="PASSPORT")
@_reason_option
@tenant_option
@config_option
def life_end(passport: str, *, reason: str, tenant: str, config_path: str | None) -> None:
    r"""Say that a battery was recycled: its passport ends, and no version of it comes into force any more.

    \b
    Example: bpc-worker life end SN-000417 --reason "recycled, certificate 4711" --tenant acme
    """
    from bpc_worker.pipeline.lives import end_life

    click.echo(in_pipeline(config_path, tenant, end_life, passport, reason))
