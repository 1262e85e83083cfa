"""The commands about documents: send in, list, show, facts."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import (
    config_option,
    json_option,
    limit_option,
    tenant_option,
    wait_options,
)
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    counted,
    fail,
    fields_of,
    json_text,
    refused,
    show_fields,
    show_json,
    show_list,
    tell,
)
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience
from bpc_worker.domain.states import DocumentStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.document_values import ValueSeen
    from bpc_worker.pipeline.documents import DocumentDetail, FactFound, Upload, Waited

_ID = "ID is the id of a version or its sha256, or a document's id or name: then the version sent last."
_KINDS = ("BOM", "PCF", "DUE_DILIGENCE", "DATA_SHEET", "SERIALS", "MEASUREMENTS", "ATTACHMENT", "OTHER")
_NUMBER_FORMATS = ("1.234,56", "1,234.56")
_STDIN = "-"
_MOST_VALUES = 500  # that are shown to a person


@main.group(epilog=_ID)
def document() -> None:
    """Documents: what suppliers send, and the facts in it."""


@document.command("add")
@click.argument("file")
@click.option("--kind", type=click.Choice(_KINDS, case_sensitive=False), required=True, help="What it tells.")
@click.option("--mime-type", help="Default: by the ending, .csv, .json or .xlsx.")
@click.option("--ref", help="Name of the document over all its versions; default: the name of the file.")
@click.option("--number-format", type=click.Choice(_NUMBER_FORMATS), help="How numbers in a CSV are written.")
@click.option(
    "--mapping", type=click.Path(path_type=Path), help="A mapping.yaml: what titles in a table mean."
)
@wait_options("its facts are read or it is rejected")
@tenant_option
@json_option("One JSON object.")
@config_option
def document_add(  # noqa: PLR0913 - one argument per option
    file: str,
    *,
    kind: str,
    mime_type: str | None,
    ref: str | None,
    number_format: str | None,
    mapping: Path | None,
    wait: bool,
    timeout: float,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Send a document in and print its sha256, by which the other commands know it.

    FILE is a file, or - for standard input (then --mime-type and --ref are needed). A file in one of
    ingest.folders is read there by the worker; any other travels inside the job.

    \b
    Example: bpc-worker document add bom.csv --kind BOM --number-format 1.234,56 --tenant acme --wait
    """
    from bpc_worker.pipeline.documents import Upload, Waited, add_document, wait_for_document
    from bpc_worker.pipeline.session import PipelineSession

    async def send(pipeline: PipelineSession) -> tuple[Upload, str, Waited | None]:
        upload = _upload(file, kind.upper(), mime_type, ref, pipeline.settings.limits.document_bytes)
        upload = replace(upload, number_format=number_format, mapping=_mapping(mapping))
        job_id = await add_document(pipeline, upload)
        waited = None
        if wait:
            waited = await wait_for_document(pipeline, job_id, upload, seconds=timeout, looked=patience())
        return upload, str(job_id), waited

    upload, job_id, waited = in_pipeline(config_path, tenant, send)
    found = None if waited is None else waited.document
    digest = upload.sha256.hex() if found is None else found.sha256.hex()
    about = {"sha256": digest, "job_id": job_id, "document": found}
    click.echo(json_text(about) if as_json else digest)
    if waited is None:
        tell(f"job {job_id} reads it; see what became of it with `bpc-worker document show {digest}`")
    else:
        _tell_outcome(waited, digest)


def _tell_outcome(waited: "Waited", digest: str) -> None:
    found = waited.document
    if found is not None and found.status == DocumentStatus.REJECTED:
        _refuse(found)
    elif found is None or not waited.job.succeeded:
        not_done(waited.job)
    else:
        tell(
            *(f"  {each.where}: {each.message}" for each in found.errors),
            f"{found.external_ref}: {counted(found.facts, 'fact')}, {counted(len(found.errors), 'value')} "
            f"refused; see `bpc-worker document show {digest}`",
        )


def _refuse(found: "DocumentDetail") -> NoReturn:
    listed = [f"  {each.where}: {each.message}" for each in found.errors]
    tell(
        f"{found.external_ref} is REJECTED:", *listed, "send a corrected file with `bpc-worker document add`"
    )
    raise SystemExit(EXIT_FAILED)


def _mapping(path: Path | None) -> Mapping[str, object] | None:
    from bpc_worker.pipeline.builds.folder import read_mapping

    if path is None:
        return None
    with refused((OSError, ValueError), "docs/documents.md shows one", what=f"{path}: "):
        return read_mapping(path)


def _upload(file: str, kind: str, mime_type: str | None, ref: str | None, limit: int) -> "Upload":
    from bpc_worker.documents.mime_types import by_ending
    from bpc_worker.files.reading import read_at_most, take_at_most
    from bpc_worker.pipeline.documents import Upload

    path = None if file == _STDIN else Path(file)
    mime_type = mime_type or (None if path is None else by_ending(path.name))
    ref = ref or (None if path is None else path.name)
    if mime_type is None:
        fail(
            EXIT_USAGE,
            f"{file}: the ending does not tell what it is",
            "say it with --mime-type, for example text/csv",
        )
    if not ref:
        fail(EXIT_USAGE, "standard input has no name", "give the document one with --ref")
    with refused(OSError, "name a file that can be read (limits.document_bytes)", what=f"{file}: "):
        content = take_at_most(sys.stdin.buffer, limit) if path is None else read_at_most(path, limit)
    return Upload(
        content=content,
        kind=kind,
        mime_type=mime_type,
        external_ref=ref,
    )


@document.command("list")
@click.option("--status", type=click.Choice([*DocumentStatus], case_sensitive=False))
@limit_option
@tenant_option
@json_option("One JSON object per version.")
@config_option
def document_list(
    *, status: str | None, limit: int, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""List the versions of all documents, newest first: id, status, kind, facts, name.

    \b
    Example: bpc-worker document list --status REJECTED --tenant acme
    """
    from bpc_worker.pipeline.documents import list_documents

    wanted = None if status is None else status.upper()
    show_list(
        in_pipeline(config_path, tenant, list_documents, status=wanted, limit=limit),
        lambda each: [each.document_version_id, each.status, each.kind, each.facts, each.external_ref],
        as_json=as_json,
        limit=limit,
        nothing="no such documents; send one in with `bpc-worker document add`",
    )


@document.command("show", epilog=_ID)
@click.argument("id_", metavar="ID")
@click.option("--rules", help="NAME or NAME@VERSION; default: the newest published version of each package.")
@tenant_option
@json_option("One JSON object.")
@config_option
def document_show(
    id_: str, *, rules: str | None, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""Show a document: its status, and of every value which field uses it, or that it is kept or refused.

    \b
    Example: bpc-worker document show bom.csv --tenant acme
    """
    from bpc_worker.pipeline.document_values import document_values

    found = in_pipeline(config_path, tenant, document_values, id_, rules=rules)
    if as_json:
        show_json(found)
        return
    fields = fields_of(
        found, "document_version_id", "document_id", "external_ref", "kind", "mime_type", "number_format",
        "mapping", "bytes", "sha256", "created_at", "status", "facts",
    )  # fmt: skip
    if found.status == DocumentStatus.REJECTED:
        fields += [("error", f"{each.where}: {each.message}") for each in found.errors]
    fields += [("snapshot", f"{each.snapshot_id} {each.status}") for each in found.snapshots]
    fields += [("build", f"{each.build_id} {each.state}") for each in found.builds]
    fields += [("rules", each) for each in found.rules]
    fields += [(each.fate, _value_text(each)) for each in found.values[:_MOST_VALUES]]
    show_fields(fields)
    if len(found.values) > _MOST_VALUES:
        tell(f"and {counted(len(found.values) - _MOST_VALUES, 'more value')}; --json shows all of them")


def _value_text(seen: "ValueSeen") -> str:
    """`/batteryMass: composition.mass_kg = 400.5, in composition.mass`"""
    if seen.message:
        return f"{seen.place}: {seen.message}"
    named = f"{seen.name} = " if seen.name else ""
    used = f", in {', '.join(seen.fields)}" if seen.fields else ""
    value = seen.value if isinstance(seen.value, str) else json_text(seen.value)
    return f"{seen.place}: {named}{value}{used}"


@document.command("facts", epilog=_ID)
@click.argument("id_", metavar="ID")
@tenant_option
@json_option("One JSON object per fact and place.")
@config_option
def document_facts(id_: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the facts of a document: type, key, place in the document, content.

    \b
    Example: bpc-worker document facts bom.csv --tenant acme
    """
    from bpc_worker.pipeline import documents

    show_list(
        in_pipeline(config_path, tenant, documents.document_facts, id_),
        lambda fact: [fact.fact_type, fact.fact_key, fact.pointer, fact.canonical.decode()],
        as_json=as_json,
        encode=_fact_text,
        nothing="it has no facts; `bpc-worker document show` says why",
    )


def _fact_text(fact: "FactFound") -> str:
    from bpc_worker.core.base import canonical_json

    about = {name: getattr(fact, name) for name in fact.__struct_fields__ if name != "canonical"}
    return json_text(about | {"payload": canonical_json.decode(fact.canonical)})
