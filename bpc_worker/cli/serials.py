"""The commands about serial numbers: add, make, list."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import (
    FILE,
    config_option,
    json_option,
    limit_option,
    several,
    tenant_option,
)
from bpc_worker.cli._common.output import counted, refused, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.domain.states import Granularity

if TYPE_CHECKING:
    from bpc_worker.domain.records import Passport
    from bpc_worker.pipeline.serials import Serials

Callback = TypeVar("Callback", bound=Callable[..., object])

_MOST_BYTES = 32 * 1024 * 1024

_product_option = click.option("--product", required=True, metavar="IDENTIFIER", help="Of which product.")
_longer_option = click.option(
    "--longer-than-registry",
    "longer",
    is_flag=True,
    help="Also identifiers that are longer than the EU registry takes.",
)
_granularity_option = click.option(
    "--granularity",
    type=click.Choice([*Granularity]),
    default=Granularity.ITEM,
    show_default=True,
    help="What each of them names.",
)


def _of_tenant(text: str) -> Callable[[Callback], Callback]:
    return several(tenant_option, json_option(text), config_option)


@main.group()
def serials() -> None:
    """Serial numbers: the batteries of a product, each under its unique identifier for life."""


@serials.command("add")
@click.argument("given", nargs=-1, metavar="[SERIAL]...")
@click.option("--file", "file", type=FILE, help="One serial per line.")
@_product_option
@_granularity_option
@_longer_option
@click.option("--set-82", is_flag=True, help="Also characters beyond A-Z 0-9 - _ . that GS1 allows.")
@_of_tenant("One JSON object per serial.")
def serials_add(  # noqa: PLR0913 - one argument per option
    given: tuple[str, ...],
    *,
    file: Path | None,
    product: str,
    granularity: str,
    longer: bool,
    set_82: bool,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Take serials of your own and print each with its unique identifier: the URL on the battery.

    Those that are there keep theirs. With a GTIN, host and serial share 20 characters.

    \b
    Example: bpc-worker serials add 7QK2M9X4TB --product urn:example:helios:ev78 --tenant acme
    """
    from bpc_worker.pipeline.identifiers import Leave
    from bpc_worker.pipeline.serials import add_serials

    wanted = [*given, *(() if file is None else _lines(file))]
    leave = Leave(longer=longer, set_82=set_82)
    kind = Granularity(granularity)
    found = in_pipeline(config_path, tenant, add_serials, product, wanted, granularity=kind, leave=leave)
    _show(found, as_json=as_json)
    there = len(found.passports) - found.added
    if there:
        tell(f"{counted(there, 'serial')} of these {'was' if there == 1 else 'were'} there already")


@serials.command("make")
@click.option("--count", type=click.IntRange(1, 100_000), required=True, help="How many.")
@_product_option
@_granularity_option
@_longer_option
@_of_tenant("One JSON object per serial.")
def serials_make(
    *,
    count: int,
    product: str,
    granularity: str,
    longer: bool,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Draw serials of ten characters, and print each with its unique identifier.

    \b
    Example: bpc-worker serials make --count 1000 --product urn:example:helios:ev78 --tenant acme
    """
    from bpc_worker.pipeline.identifiers import Leave
    from bpc_worker.pipeline.serials import make_serials

    kind, leave = Granularity(granularity), Leave(longer=longer)
    found = in_pipeline(config_path, tenant, make_serials, product, count, granularity=kind, leave=leave)
    _show(found, as_json=as_json)


@serials.command("list")
@_product_option
@limit_option
@_of_tenant("One JSON object per serial.")
def serials_list(*, product: str, limit: int, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the serials of a product, newest first, each with its unique identifier.

    \b
    Example: bpc-worker serials list --product urn:example:helios:ev78 --tenant acme
    """
    from bpc_worker.pipeline.serials import list_serials

    show_list(
        in_pipeline(config_path, tenant, list_serials, product, limit),
        _line,
        as_json=as_json,
        limit=limit,
        nothing="no serials yet; `bpc-worker serials make` draws some",
    )


def _lines(file: Path) -> list[str]:
    from bpc_worker.files.reading import read_at_most

    with refused((OSError, UnicodeDecodeError), what=f"{file}: "):
        lines = read_at_most(file, _MOST_BYTES).decode("utf-8-sig").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _show(found: "Serials", *, as_json: bool) -> None:
    show_list(found.passports, _line, as_json=as_json)
    for warning in found.warnings:
        tell(f"warning: {warning}")


def _line(each: "Passport") -> list[object]:
    return [each.serial, each.unique_identifier]
