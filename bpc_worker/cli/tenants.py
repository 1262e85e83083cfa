"""The commands about tenants."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option
from bpc_worker.cli._common.output import show_list
from bpc_worker.cli._common.sessions import in_database
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
