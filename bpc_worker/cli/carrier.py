"""The commands about the code on a battery: labels for lists of serial numbers, and their templates."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from bpc_worker.carrier.label import CATEGORIES, FORMATS, METALS, Format
from bpc_worker.cli import main
from bpc_worker.cli._common.options import FILE, config_option
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    counted,
    fail,
    printable,
    tell,
)
from bpc_worker.cli._common.progress import progress
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli._common.startup import settings_from

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.carrier.lists import Entry
    from bpc_worker.carrier.order import Order
    from bpc_worker.carrier.template import Template

_SHOWN = 5


class _Options(TypedDict):
    serials: Path | None
    product: str | None
    tenant: str | None
    identifiers: Path | None
    longer: bool
    set_82: bool
    category: str | None
    template: Path | None
    one_per_page: bool
    capacity: str | None
    metals: tuple[str, ...]
    values: tuple[str, ...]
    level: Literal["M", "Q"]
    module_mm: float
    side_mm: float | None
    dpi: int
    formats: tuple[Format, ...]
    sheets_per_file: int
    processes: int | None
    out: Path
    config_path: str | None


@main.group()
def carrier() -> None:
    """The code on the battery: QR codes of unique identifiers, and sheets of labels."""


@carrier.command("template")
@click.argument("category", type=click.Choice(CATEGORIES))
def carrier_template(category: str) -> None:
    r"""Print the template of a category, to change a copy of it.

    \b
    Example: bpc-worker carrier template ev > mine.toml
    """
    from bpc_worker.carrier.template import built_in

    click.echo(built_in(category), nl=False)


@carrier.command("make")
@click.option("--serials", type=FILE, metavar="FILE", help="Serial numbers, one a line, or a .csv file.")
@click.option("--product", metavar="ID", help="Identifier of the product that they belong to.")
@click.option("--tenant", envvar="BPC_TENANT", show_envvar=True, help="Id or name of the tenant.")
@click.option("--identifiers", type=FILE, metavar="FILE", help="URLs instead of serials; needs no database.")
@click.option(
    "--longer-than-registry", "longer", is_flag=True, help="URLs that the EU registry will not take."
)
@click.option("--set-82", is_flag=True, help="Also serials with other characters than A-Z 0-9 - _ .")
@click.option("--category", type=click.Choice(CATEGORIES), help="Of the batteries: which labels they get.")
@click.option("--template", type=FILE, metavar="FILE", help="A template of your own.")
@click.option("--one-per-page", is_flag=True, help="Every page is a label: for rolls.")
@click.option("--capacity", help="Of all of them, like '210 Ah'.")
@click.option("--metal", "metals", multiple=True, type=click.Choice(METALS), help="In all of them.")
@click.option("--set", "values", multiple=True, metavar="NAME=TEXT", help="Another text for all of them.")
@click.option(
    "--level",
    type=click.Choice(["M", "Q"]),
    default="M",
    show_default=True,
    help="Error correction of the codes.",
)
@click.option(
    "--module-mm",
    type=click.FloatRange(0.33, 10),
    default=0.396,
    show_default=True,
    help="Of a module, at least.",
)
@click.option(
    "--side-mm", type=click.FloatRange(5, 300), help="Of a code, at least; default: the template's."
)
@click.option(
    "--dpi", type=click.IntRange(150, 2400), default=300, show_default=True, help="Printer's dots per inch."
)
@click.option("--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Only this; repeatable.")
@click.option(
    "--sheets-per-file", type=click.IntRange(1, 5000), default=100, show_default=True, help="Of PDF."
)
@click.option("--processes", type=click.IntRange(1, 64), help="By default one for each core.")
@click.option("--out", required=True, type=FILE, metavar="DIR", help="A new folder, or that of a run to end.")
@config_option
def carrier_make(**options: Unpack[_Options]) -> None:
    r"""Make codes and labels for a list of batteries: SVG, PNG, PDF sheets, and a CSV file that lists them.

    The same list is the same bytes every time. Everything is checked before the first file is written; a run
    that was stopped is ended by the same command. A .csv file has a column `serial` (or `identifier`), and
    may have `capacity`, `metals` and whatever the template names.

    \b
    Example: bpc-worker carrier make --serials list.txt --product EV78 --category ev --capacity "210 Ah"
             --out labels --tenant acme
    Example: bpc-worker carrier make --identifiers urls.csv --template mine.toml --out labels
    """
    from bpc_worker.carrier.errors import CarrierError, UnfinishedError
    from bpc_worker.carrier.making import make

    try:
        order = _order(options)
        with progress(len(order.labels), "codes") as advance:
            table = make(order, options["out"], processes=_processes(options), progress=advance)
    except CarrierError as error:
        fail(EXIT_USAGE, *map(printable, error.problems))
    except UnfinishedError as error:
        fail(EXIT_FAILED, printable(str(error)), "the labels are not complete; run the same command again")
    click.echo(table)
    tell(f"{counted(len(order.labels), 'code')}; {table} lists them")


def _order(options: _Options) -> "Order":
    from bpc_worker.carrier.code import Printing
    from bpc_worker.carrier.lists import labels_of
    from bpc_worker.carrier.order import Order

    template = _template(options)
    entries = _entries(options)
    common = _values(options["values"])
    if options["capacity"] is not None:
        common["capacity"] = options["capacity"]
    return Order(
        labels=labels_of(entries, options["metals"], common),
        template=template,
        printing=Printing(
            level=options["level"],
            module_mm=options["module_mm"],
            side_mm=options["side_mm"] or template.code.side_mm,
            dpi=options["dpi"],
        ),
        formats=frozenset(options["formats"] or FORMATS),
        sheets_per_file=options["sheets_per_file"],
    )


def _template(options: _Options) -> "Template":
    from bpc_worker.carrier.template import of_category, read

    category, own = options["category"], options["template"]
    if own is not None and category is None:
        found = read(own)
    elif category is not None and own is None:
        found = of_category(category)
    else:
        fail(EXIT_USAGE, "say --category or --template, one of them", f"categories: {', '.join(CATEGORIES)}")
    return found.one_per_page() if options["one_per_page"] else found


def _values(given: Sequence[str]) -> dict[str, str]:
    values = {}
    for each in given:
        name, mark, text = each.partition("=")
        if not (name and mark):
            fail(EXIT_USAGE, f"--set {printable(each)!r}: write it like manufacturer='Example SE'")
        values[name] = text
    return values


def _entries(options: _Options) -> "Sequence[Entry]":
    """The list with the URL of each battery, checked."""
    from bpc_worker.carrier.lists import check_identifiers, read_list
    from bpc_worker.core.base.serials import count_up

    serials, urls = options["serials"], options["identifiers"]
    if urls is not None and serials is None:
        entries: Sequence[Entry] = read_list(urls, "identifier")
        most = settings_from(options["config_path"]).limits.identifier_characters
    elif serials is not None and urls is None:
        entries, most = _looked_up(serials, options), None
    else:
        fail(EXIT_USAGE, "say --serials with --product and --tenant, or --identifiers; one of them")
    at_most = None if options["longer"] else most
    printed = check_identifiers(entries, at_most=at_most, set_82=options["set_82"])
    if (pair := count_up(printed)) is not None:
        told = "strangers can read production numbers from them and open the page of every battery"
        tell(f"these serials count up ({pair[0]}, {pair[1]}): {told}")
    return entries


def _looked_up(path: Path, options: _Options) -> "list[Entry]":
    from bpc_worker.carrier.lists import identified, read_list
    from bpc_worker.pipeline.carriers import identifiers

    product, tenant = options["product"], options["tenant"]
    if product is None or tenant is None:
        fail(EXIT_USAGE, "--serials needs --product and --tenant", "without a database: --identifiers FILE")
    entries = read_list(path, "serial")
    wanted = [entry.values["serial"] for entry in entries]
    found, known = in_pipeline(options["config_path"], tenant, identifiers, product, wanted)
    unknown = [serial for serial in wanted if serial not in known]
    if unknown:
        shown = ", ".join(unknown[:_SHOWN]) + (" ..." if len(unknown) > _SHOWN else "")
        fail(
            EXIT_NOT_FOUND,
            f"{product} has no {printable(shown)} ({len(unknown)} of {len(wanted)} serials)",
            "a battery gets its URL when its serial is added: `bpc-worker serials add`",
        )
    about = {"product": found.name, "model": found.model_identifier or "", "gtin": found.gtin or ""}
    return identified(entries, known, about)


def _processes(options: _Options) -> int:
    return options["processes"] or len(os.sched_getaffinity(0))
