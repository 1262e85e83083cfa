"""The commands about tenants and their products."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option, tenant_option
from bpc_worker.cli._common.output import json_text, show_list, tell
from bpc_worker.cli._common.sessions import in_database, in_pipeline
from bpc_worker.cli._common.startup import settings_from


@main.group()
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
    from bpc_worker.pipeline.tenants import add_tenant

    settings = settings_from(config_path)
    tenant_id, added = in_database(settings, lambda url: add_tenant(settings, url, name))
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
    from bpc_worker.pipeline.tenants import list_tenants

    settings = settings_from(config_path)
    show_list(
        in_database(settings, lambda url: list_tenants(settings, url)),
        lambda each: [each.tenant_id, each.name],
        as_json=as_json,
        nothing="no tenants yet; add one with `bpc-worker tenant add NAME`",
    )


@main.group()
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

    found, added = in_pipeline(config_path, tenant, add_product, identifier, name)
    click.echo(json_text(found) if as_json else found.battery_product_id)
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

    show_list(
        in_pipeline(config_path, tenant, products),
        lambda each: [each.battery_product_id, each.identifier, each.name],
        as_json=as_json,
        nothing="no products yet; add one with `bpc-worker product add IDENTIFIER --name NAME`",
    )
