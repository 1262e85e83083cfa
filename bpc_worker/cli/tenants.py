"""The commands about tenants and their products."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.parts import Group, database_url, explained, finished, settings_from
from bpc_worker.cli._common.session import (
    as_owner,
    config_option,
    json_option,
    show_json,
    show_lines,
    tell,
    tenant_option,
)

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.products import Product
    from bpc_worker.pipeline.tenants import Tenant


@click.group(cls=Group)
def tenant() -> None:
    """Tenants: whose documents, passports and jobs they are."""


@tenant.command("add")
@click.argument("name")
@config_option
def tenant_add(name: str, config_path: str | None) -> None:
    r"""Add a tenant and print its id; the same name again is the same tenant.

    \b
    Example: bpc-worker tenant add acme
    """
    from bpc_worker.pipeline import tenants as owner

    settings = settings_from(config_path)
    with database_url(settings) as url, explained():
        tenant_id, added = finished(owner.add_tenant(settings, url, name))
    click.echo(tenant_id)
    click.echo(f"tenant {name!r} {'added' if added else 'was there already'}", err=True)


@tenant.command("list")
@json_option("One JSON object per tenant.")
@config_option
def tenant_list(*, as_json: bool, config_path: str | None) -> None:
    r"""List the tenants: id, name.

    \b
    Example: bpc-worker tenant list
    """
    from bpc_worker.pipeline import tenants as owner

    settings = settings_from(config_path)
    with database_url(settings) as url, explained():
        found = finished(owner.list_tenants(settings, url))

    def line(each: "Tenant") -> list[object]:
        return [each.tenant_id, each.name]

    show_lines(found, line, as_json=as_json)
    if not found:
        tell("no tenants yet; add one with `bpc-worker tenant add NAME`")


@click.group(cls=Group)
def product() -> None:
    """Products: the kinds of battery that passports are made for."""


@product.command("add")
@click.argument("identifier")
@click.option("--name", required=True, help="What people call it.")
@tenant_option
@json_option("One JSON object.")
@config_option
def product_add(identifier: str, *, name: str, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Add a product and print its id; the same identifier again is the same product.

    \b
    Example: bpc-worker product add urn:example:helios:ev78 --name "Helios EV 78" --tenant acme
    """
    from bpc_worker.pipeline.products import add_product

    found, added = as_owner(config_path, tenant, lambda owner: add_product(owner, identifier, name))
    if as_json:
        show_json(found)
    else:
        click.echo(found.battery_product_id)
    if not added:
        kept = "" if found.name == name else f", and keeps its name {found.name!r}"
        tell(f"product {identifier!r} was there already{kept}")


@product.command("list")
@tenant_option
@json_option("One JSON object per product.")
@config_option
def product_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the products: id, identifier, name.

    \b
    Example: bpc-worker product list --tenant acme
    """
    from bpc_worker.pipeline.products import products

    found = as_owner(config_path, tenant, products)

    def line(each: "Product") -> list[object]:
        return [each.battery_product_id, each.identifier, each.name]

    show_lines(found, line, as_json=as_json)
    if not found:
        tell("no products yet; add one with `bpc-worker product add IDENTIFIER --name NAME`")
