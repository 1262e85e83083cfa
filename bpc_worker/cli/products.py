"""The commands about products: add, change, import, list."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import FILE, config_option, json_option, several, tenant_option
from bpc_worker.cli._common.output import json_text, refused, show_json, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline

Callback = TypeVar("Callback", bound=Callable[..., object])

_MOST_BYTES = 32 * 1024 * 1024


def _about(*, name_required: bool) -> Callable[[Callback], Callback]:
    return several(
        click.option("--name", required=name_required, help="What people call it."),
        click.option("--model-identifier", help="The operator's own name of the model."),
        click.option("--gtin", help="8, 12, 13 or 14 digits; its batteries get GS1 Digital Links."),
        click.option("--commodity-code", help="6 to 10 digits of the customs tariff."),
        click.option("--operator", help="Who answers for it, by name: `bpc-worker operator list`."),
        click.option("--facility", help="Where it is made, by name: `bpc-worker facility list`."),
    )


@main.group()
def product() -> None:
    """Products: the kinds of battery that passports are made for."""


@product.command("add")
@click.argument("identifier")
@_about(name_required=True)
@tenant_option
@json_option("One JSON object.")
@config_option
def product_add(
    identifier: str, *, tenant: str, as_json: bool, config_path: str | None, **about: str | None
) -> None:
    r"""Add a product and print its id; the same identifier again is the same product.

    \b
    Example: bpc-worker product add urn:example:helios:ev78 --name "Helios EV 78" --tenant acme
    """
    from bpc_worker.pipeline.products import ProductData, add_product

    told = ProductData(identifier=identifier, **about)
    found, added = in_pipeline(config_path, tenant, add_product, told)
    click.echo(json_text(found) if as_json else found.battery_product_id)
    if not added:
        kept = "" if found.name == told.name else f", and keeps its name {found.name!r}"
        tell(f"product {identifier!r} was there already{kept}; `bpc-worker product change` changes it")


@product.command("change")
@click.argument("identifier")
@_about(name_required=False)
@tenant_option
@json_option("One JSON object.")
@config_option
def product_change(
    identifier: str, *, tenant: str, as_json: bool, config_path: str | None, **about: str | None
) -> None:
    r"""Change what is told of a product from now on, and print its id.

    Passport versions keep what they say, and batteries keep their unique identifiers.

    \b
    Example: bpc-worker product change urn:example:helios:ev78 --gtin 4006381333931 --tenant acme
    """
    from bpc_worker.pipeline.products import ProductData, change_product

    found = in_pipeline(config_path, tenant, change_product, ProductData(identifier=identifier, **about))
    click.echo(json_text(found) if as_json else found.battery_product_id)


@product.command("import")
@click.argument("file", type=FILE)
@click.option("--change", is_flag=True, help="Change those that are there with other values.")
@tenant_option
@json_option("One JSON object: how many were added, changed, the same.")
@config_option
def product_import(file: Path, *, change: bool, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Add the products of a CSV file, all or none, and print how many are new.

    \b
    Its columns: identifier, name; may: model_identifier, gtin, commodity_code, operator, facility.
    Example: bpc-worker product import products.csv --tenant acme
    """
    from bpc_worker.files.reading import read_at_most
    from bpc_worker.jobs.errors import Permanent
    from bpc_worker.pipeline.product_file import read_products
    from bpc_worker.pipeline.products import import_products

    with refused((OSError, Permanent), what=f"{file}: "):
        rows = read_products(read_at_most(file, _MOST_BYTES))
    done = in_pipeline(config_path, tenant, import_products, rows, change=change)
    if as_json:
        show_json(done)
    else:
        click.echo(done.added)
    tell(f"{done.added} added, {done.changed} changed, {done.same} as they were")


@product.command("list")
@tenant_option
@json_option("One JSON object per product.")
@config_option
def product_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the products: id, identifier, GTIN, name.

    \b
    Example: bpc-worker product list --tenant acme
    """
    from bpc_worker.pipeline.products import products

    show_list(
        in_pipeline(config_path, tenant, products),
        lambda each: [each.battery_product_id, each.identifier, each.gtin, each.name],
        as_json=as_json,
        nothing="no products yet; add one with `bpc-worker product add IDENTIFIER --name NAME`",
    )
