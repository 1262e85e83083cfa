"""The commands that take tables about many batteries: serials import, measurements import."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import (
    FILE,
    config_option,
    json_option,
    limit_option,
    tenant_option,
    timeout_option,
)
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    counted,
    fail,
    refused,
    show_json,
    show_list,
    tell,
)
from bpc_worker.cli._common.progress import progress
from bpc_worker.cli._common.sessions import in_pipeline, patience
from bpc_worker.cli.serials import serials

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Sequence

    from bpc_worker.jobs.model import JobId
    from bpc_worker.pipeline.documents import DocumentDetail
    from bpc_worker.pipeline.items import Progress, Size
    from bpc_worker.pipeline.session import PipelineSession

_NUMBER_FORMATS = ("1.234,56", "1,234.56")
_MODEL_KINDS = ("DATA_SHEET", "BOM", "OTHER")

_product_option = click.option("--product", required=True, metavar="IDENTIFIER", help="Of which product.")
_number_option = click.option(
    "--number-format", type=click.Choice(_NUMBER_FORMATS), help="How numbers in a CSV are written."
)


@serials.command("import")
@click.argument("file", type=FILE)
@_product_option
@click.option("--model", type=FILE, help="The model's file, sealed first; else the model that is there.")
@click.option("--model-kind", type=click.Choice(_MODEL_KINDS), default="DATA_SHEET", show_default=True)
@_number_option
@click.option("--rules", help="Make versions too, by these rules: NAME or NAME@VERSION; with --law-date.")
@click.option("--law-date", type=click.DateTime(["%Y-%m-%d"]), help="Day of placing on the market.")
@timeout_option
@tenant_option
@json_option("One JSON object: rows and bytes by table.")
@config_option
def serials_import(  # noqa: PLR0913 - one argument per option
    file: Path,
    *,
    product: str,
    model: Path | None,
    model_kind: str,
    number_format: str | None,
    rules: str | None,
    law_date: datetime | None,
    timeout: float,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Take a list (CSV) of serials with their own values: each gets its passport and a sealed snapshot.

    The snapshot is the model's facts and the battery's own. Given again, the command goes on where it was
    interrupted, and what is done is found done. In the end it prints rows and bytes per serial.

    \b
    Example: bpc-worker serials import serials.csv --product urn:example:helios:ev78 --model model.csv
    """
    from bpc_worker.pipeline.items import Versions, count_items, sizes, take_list

    if (rules is None) != (law_date is None):
        fail(EXIT_USAGE, "--rules and --law-date go together", "give both, or none of them")
    versions = None if rules is None or law_date is None else Versions(rules, law_date.date())

    async def take(pipeline: "PipelineSession") -> "tuple[int, Progress, list[Size]]":
        if model is not None:
            sent = await _send(pipeline, model, model_kind, number_format, timeout)
            await _seal_model(pipeline, product, sent, timeout)
        listed = str((await _send(pipeline, file, "SERIALS", number_format, timeout)).document_version_id)
        count = await count_items(pipeline, listed)
        with progress(count, "serials have their passports") as advance:
            jobs = await take_list(pipeline, product, listed, versions=versions, looked=advance)
        ended = await _watch(pipeline, jobs, count, timeout)
        return count, ended, await sizes(pipeline, listed)

    count, ended, found = in_pipeline(config_path, tenant, take)
    _show_sizes(count, found, as_json=as_json)
    _tell_end(count, ended)


async def _send(
    pipeline: "PipelineSession", file: Path, kind: str, number_format: str | None, seconds: float
) -> "DocumentDetail":
    from bpc_worker.documents.mime_types import by_ending
    from bpc_worker.files.reading import read_at_most
    from bpc_worker.pipeline.documents import Upload
    from bpc_worker.pipeline.sending import send

    with refused(OSError, "name a file that can be read (limits.document_bytes)", what=f"{file}: "):
        content = read_at_most(file, pipeline.settings.limits.document_bytes)
    mime_type = by_ending(file.name) or "text/csv"
    upload = Upload(
        content=content, kind=kind, mime_type=mime_type, external_ref=file.name, number_format=number_format
    )
    return await send(pipeline, upload, seconds=seconds, looked=patience())


async def _seal_model(
    pipeline: "PipelineSession", product: str, document: "DocumentDetail", seconds: float
) -> None:
    from bpc_worker.pipeline.jobs import how_it_stands, wait_for_job
    from bpc_worker.pipeline.models import seal_model

    made = await seal_model(pipeline, product, [str(document.document_version_id)])
    if made.job_id is not None:
        job = await wait_for_job(pipeline, made.job_id, seconds=seconds, looked=patience())
        if not job.succeeded:
            fail(EXIT_FAILED, *how_it_stands(job))
    tell(f"the model of {product} is snapshot {made.snapshot_id}, with {counted(document.facts, 'fact')}")


async def _watch(
    pipeline: "PipelineSession", jobs: "Sequence[JobId]", count: int, seconds: float
) -> "Progress":
    """Until all are sealed, or nobody goes on."""
    from bpc_worker.pipeline.items import Progress, sealing
    from bpc_worker.waiting.polling import poll

    with progress(count, "serials are sealed") as advance:
        done = 0

        async def look() -> Progress:
            nonlocal done
            found = await sealing(pipeline, jobs)
            advance(found.sealed - done)
            done = found.sealed
            return found

        return await poll(look, until=lambda each: each.ended, seconds=seconds)


def _show_sizes(count: int, found: "Sequence[Size]", *, as_json: bool) -> None:
    if as_json:
        show_json({"serials": count, "tables": found})
        return
    show_list(
        found,
        lambda each: [
            each.of,
            each.rows,
            f"{each.rows / count:.2f}",
            each.bytes,
            f"{(each.bytes or 0) / count:.0f}",
        ],
        titles=["table", "rows", "per serial", "bytes", "per serial"],
    )
    rows, size = sum(each.rows for each in found), sum(each.bytes or 0 for each in found)
    each = f"{rows / count:.2f} rows and {size / count:.0f} bytes each before compile"
    tell(f"{counted(count, 'serial')}: {each}")


def _tell_end(count: int, ended: "Progress") -> None:
    for each in ended.troubles[:1]:
        more = len(ended.troubles) - 1
        said = f"job {each.job_id} is {each.status}: {each.fail_code}: {each.fail_reason}"
        hint = f"mend the cause, then `bpc-worker jobs retry {each.job_id}`" + (
            f"; and {more} more" if more else ""
        )
        fail(EXIT_FAILED, said, hint)
    if not ended.ended:
        fail(EXIT_FAILED, f"{ended.sealed} of {count} are sealed; the same command goes on watching")


@main.group()
def measurements() -> None:
    """Measurements: what was found of single batteries, with time and source."""


@measurements.command("import")
@click.argument("file", type=FILE)
@_product_option
@_number_option
@timeout_option
@tenant_option
@config_option
def measurements_import(
    file: Path,
    *,
    product: str,
    number_format: str | None,
    timeout: float,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Take a table (CSV) of measurements: serial, measured_at, source, and values under their names.

    Or one value per row: serial, name, value, measured_at, source. Versions stay as they are: the next one
    that is made of a battery says what was measured last, and the series stays beside it.

    \b
    Example: bpc-worker measurements import may.csv --product urn:example:helios:ev78 --tenant acme
    """
    from bpc_worker.pipeline.items import count_items, take_measurements

    async def take(pipeline: "PipelineSession") -> "tuple[DocumentDetail, int]":
        sent = await _send(pipeline, file, "MEASUREMENTS", number_format, timeout)
        document = str(sent.document_version_id)
        with progress(await count_items(pipeline, document), "batteries have them") as advance:
            return sent, await take_measurements(pipeline, product, document, advance)

    sent, count = in_pipeline(config_path, tenant, take)
    facts = counted(sent.facts, "measurement")
    tell(f"{facts} of {count} batteries; `bpc-worker passport renew` makes versions that say them")


@measurements.command("list")
@click.argument("passport", metavar="PASSPORT")
@click.option("--name", help="Only this one: its series.")
@limit_option
@tenant_option
@json_option("One JSON object per measurement.")
@config_option
def measurements_list(
    passport: str, *, name: str | None, limit: int, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""List what was measured of a battery, newest first: time, name, value, source, document and cell.

    \b
    Example: bpc-worker measurements list SN-000417 --name charge_pct --tenant acme
    """
    from bpc_worker.pipeline.measurements import measured

    show_list(
        in_pipeline(config_path, tenant, measured, passport, name=name, limit=limit),
        lambda each: [each.measured_at, each.name, each.value, each.source, each.document, each.pointer],
        as_json=as_json,
        limit=limit,
        nothing="nothing was measured of it; `bpc-worker measurements import` takes a table",
    )
