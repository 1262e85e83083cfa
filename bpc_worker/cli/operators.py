"""The commands about who makes batteries, where, and under which hosts they are found."""

from collections.abc import Sequence

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option, several, tenant_option
from bpc_worker.cli._common.output import EXIT_USAGE, fail, json_text, printable, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline

_address_option = click.option(
    "--address", multiple=True, metavar="LANGUAGE=TEXT", help="On one line; may be given often."
)
_identifier_option = click.option(
    "--identifier", multiple=True, metavar="SCHEME=TEXT", help="GLN, LEI, EORI, VAT, …; may be given often."
)
_contact_option = click.option("--contact", help="E-mail address or telephone number.")
_web_option = click.option("--web", help="Address on the web.")
_rename_option = click.option("--name", "new_name", help="Another name.")
_where_options = several(_address_option, _identifier_option)
_common_options = several(tenant_option, json_option("One JSON object."), config_option)


@main.group()
def operator() -> None:
    """Operators: who places batteries on the market and answers for them."""


@operator.command("add")
@click.argument("name")
@_where_options
@_contact_option
@_web_option
@_common_options
def operator_add(  # noqa: PLR0913 - one argument per option
    name: str,
    *,
    address: tuple[str, ...],
    identifier: tuple[str, ...],
    contact: str | None,
    web: str | None,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Add an operator and print its id; the same name again is the same operator.

    \b
    Example: bpc-worker operator add "Volt Works" --address "en=Ring 1, Aachen" --identifier VAT=DE123456789
    """
    from bpc_worker.pipeline.operators import Told, add_operator

    told = Told(address=_pairs(address), identifiers=_pairs(identifier), contact=contact, web=web)
    found, added = in_pipeline(config_path, tenant, add_operator, name, told)
    click.echo(json_text(found) if as_json else found.operator_id)
    if not added:
        tell(f"operator {name!r} was there already; `bpc-worker operator change` changes it")


@operator.command("change")
@click.argument("name")
@_rename_option
@_where_options
@_contact_option
@_web_option
@_common_options
def operator_change(  # noqa: PLR0913 - one argument per option
    name: str,
    *,
    new_name: str | None,
    address: tuple[str, ...],
    identifier: tuple[str, ...],
    contact: str | None,
    web: str | None,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Change what passports tell of an operator from now on; an empty text takes something away.

    Versions that are there keep what they say.

    \b
    Example: bpc-worker operator change "Volt Works" --identifier VAT= --tenant acme
    """
    from bpc_worker.pipeline.operators import Told, change_operator

    addresses, identifiers = _pairs(address), _pairs(identifier)
    told = Told(name=new_name, address=addresses, identifiers=identifiers, contact=contact, web=web)
    found = in_pipeline(config_path, tenant, change_operator, name, told)
    click.echo(json_text(found) if as_json else found.operator_id)


@operator.command("list")
@_common_options
def operator_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the operators: id, name, identifiers.

    \b
    Example: bpc-worker operator list --tenant acme
    """
    from bpc_worker.pipeline.operators import operators

    show_list(
        in_pipeline(config_path, tenant, operators),
        lambda each: [each.operator_id, each.name, _joined(each.identifiers)],
        as_json=as_json,
        nothing="no operators yet; add one with `bpc-worker operator add NAME`",
    )


@main.group()
def facility() -> None:
    """Facilities: where batteries are made."""


@facility.command("add")
@click.argument("name")
@click.option("--operator", "operator_name", required=True, help="Whose it is, by name.")
@_where_options
@_common_options
def facility_add(
    name: str,
    *,
    operator_name: str,
    address: tuple[str, ...],
    identifier: tuple[str, ...],
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Add a facility and print its id; the same name again is the same facility.

    \b
    Example: bpc-worker facility add Aachen --operator "Volt Works" --identifier GLN=9506000134352
    """
    from bpc_worker.pipeline.operators import Told, add_facility

    told = Told(address=_pairs(address), identifiers=_pairs(identifier))
    found, added = in_pipeline(config_path, tenant, add_facility, name, operator_name, told)
    click.echo(json_text(found) if as_json else found.facility_id)
    if not added:
        tell(f"facility {name!r} was there already; `bpc-worker facility change` changes it")


@facility.command("change")
@click.argument("name")
@_rename_option
@click.option("--operator", "operator_name", help="Whose it is now, by name.")
@_where_options
@_common_options
def facility_change(  # noqa: PLR0913 - one argument per option
    name: str,
    *,
    new_name: str | None,
    operator_name: str | None,
    address: tuple[str, ...],
    identifier: tuple[str, ...],
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Change what passports tell of a facility from now on; an empty text takes something away.

    Versions that are there keep what they say.

    \b
    Example: bpc-worker facility change Aachen --address "de=Ring 1, Aachen" --tenant acme
    """
    from bpc_worker.pipeline.operators import Told, change_facility

    told = Told(name=new_name, address=_pairs(address), identifiers=_pairs(identifier))
    found = in_pipeline(config_path, tenant, change_facility, name, told, operator=operator_name)
    click.echo(json_text(found) if as_json else found.facility_id)


@facility.command("list")
@_common_options
def facility_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the facilities: id, name, operator, identifiers.

    \b
    Example: bpc-worker facility list --tenant acme
    """
    from bpc_worker.pipeline.operators import facilities

    show_list(
        in_pipeline(config_path, tenant, facilities),
        lambda each: [each.facility_id, each.name, each.operator, _joined(each.identifiers)],
        as_json=as_json,
        nothing="no facilities yet; add one with `bpc-worker facility add NAME --operator NAME`",
    )


@main.group()
def host() -> None:
    """Hosts: under which names the pages of a tenant's batteries are found."""


@host.command("add")
@click.argument("name", metavar="HOST")
@tenant_option
@config_option
def host_add(name: str, *, tenant: str, config_path: str | None) -> None:
    r"""Give a tenant a host of its own; unique identifiers that are made from now on stand under it.

    It stays the tenant's for as long as batteries bear it: keep its DNS entry. A short one leaves room.

    \b
    Example: bpc-worker host add id.volt.eu --tenant acme
    """
    from bpc_worker.pipeline.hosts import add_host

    if not in_pipeline(config_path, tenant, add_host, name):
        tell(f"{name} was the tenant's already")
    click.echo(name)


@host.command("list")
@_common_options
def host_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the hosts of a tenant, newest first; the first is for new identifiers.

    \b
    Example: bpc-worker host list --tenant acme
    """
    from bpc_worker.pipeline.hosts import hosts

    show_list(
        in_pipeline(config_path, tenant, hosts),
        lambda each: [each.host, each.created_at],
        as_json=as_json,
        nothing="no hosts yet; add one with `bpc-worker host add HOST`",
    )


def _pairs(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, mark, text = each.partition("=")
        if not mark:
            fail(EXIT_USAGE, f"{printable(each)!r} has no =; write it like en=… or GLN=…")
        found[name] = text
    return found


def _joined(identifiers: dict[str, str]) -> str:
    return " ".join(f"{scheme}={text}" for scheme, text in sorted(identifiers.items())) or "-"
