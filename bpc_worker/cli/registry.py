"""The commands about the EU registry: files for it, and what it has confirmed."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import FILE, config_option, json_option, tenant_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, counted, fail, refused, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.registry import Recorded

_MOST_BYTES = 32 * 1024 * 1024


@main.group()
def registry() -> None:
    """The EU registry: files that register passports, and its proofs of registration."""


@registry.command("file")
@click.argument("wanted", metavar="[ID]...", nargs=-1)
@click.option("--product", metavar="IDENTIFIER", help="Without ID: only passports of this product.")
@click.option("--format", "form", type=click.Choice(["json", "csv"]), default="json", show_default=True)
@click.option("--out", required=True, type=FILE, metavar="DIR", help="An existing folder.")
@tenant_option
@config_option
def registry_file(
    wanted: tuple[str, ...],
    *,
    product: str | None,
    form: str,
    out: Path,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Write files of up to 100 requests for the EU registry, and print their names.

    Each request has identifier, model, operator, facility, commodity code, and the hash of the public view.
    Without ID: all passports in force that the registry has not confirmed. Nothing is sent.

    \b
    Example: bpc-worker registry file --out registry --tenant acme
    """
    from bpc_worker.core.passport.registration import as_csv, as_json, pages
    from bpc_worker.files.writing import ExportFileError, write_new
    from bpc_worker.pipeline.registry import requests

    if not out.is_dir():
        fail(EXIT_USAGE, f"--out {out}: there is no such folder", "make it")
    found = in_pipeline(config_path, tenant, requests, wanted, product)
    for number, page in enumerate(pages(found), 1):
        name = f"registration-{number:03d}.{form}"
        data = as_json(page) if form == "json" else as_csv(page)
        with refused(ExportFileError, "name an empty folder", what="--out ", code=EXIT_FAILED):
            write_new(out, name, data)
        click.echo(out / name)
    tell(f"{counted(len(found), 'request')}; `bpc-worker registry record PROOF` takes the answer")


@registry.command("record")
@click.argument("proof", type=FILE)
@tenant_option
@json_option("One JSON object per registration.")
@config_option
def registry_record(proof: Path, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Take a proof of registration: it must name the hash of a version's public view. All or nothing.

    JSON {"registrations": [...]} or CSV with unique_identifier, registration_id, registered_at,
    passport_sha256. The next version of the passport tells its registration.

    \b
    Example: bpc-worker registry record proof.json --tenant acme
    """
    from bpc_worker.files.reading import read_at_most
    from bpc_worker.pipeline.registry import record_proof

    with refused(OSError, what=f"{proof}: "):
        content = read_at_most(proof, _MOST_BYTES)
    found = in_pipeline(config_path, tenant, record_proof, content)
    show_list(found, _line, as_json=as_json)
    known = sum(not each.added for each in found)
    if known:
        tell(f"{counted(known, 'registration')} of these {'was' if known == 1 else 'were'} known already")


def _line(each: "Recorded") -> list[object]:
    return [each.serial, each.registration_id, each.passport_version_id]
