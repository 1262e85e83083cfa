"""The commands about attachments: add, get."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import FILE, config_option, tenant_option, timeout_option
from bpc_worker.cli._common.output import EXIT_USAGE, fail, refused, tell
from bpc_worker.cli._common.sessions import in_pipeline, patience
from bpc_worker.core.base.audience import EVERYBODY
from bpc_worker.documents.attachment_kinds import ATTACHMENT, WHAT

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.documents import DocumentDetail
    from bpc_worker.pipeline.session import PipelineSession


@main.group()
def attachment() -> None:
    """Attachments: declarations, instructions, reports; kept as they came and never parsed."""


@attachment.command("add")
@click.argument("file", type=FILE)
@click.option("--as", "what", type=click.Choice(WHAT), required=True, help="What it is.")
@click.option("--audience", type=click.Choice(EVERYBODY), required=True, help="Who may see it.")
@click.option("--language", help="Of its text, such as en or de.")
@click.option("--title", help="A name for people.")
@click.option("--ref", help="Name of the document over all its versions; default: the name of the file.")
@timeout_option
@tenant_option
@config_option
def attachment_add(  # noqa: PLR0913 - one argument per option
    file: Path,
    *,
    what: str,
    audience: str,
    language: str | None,
    title: str | None,
    ref: str | None,
    timeout: float,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Keep a file (PDF, PNG, JPEG, plain text) and print its sha256; its fact goes into snapshots.

    The ending says what it is, and its first and last bytes must agree.

    \b
    Example: bpc-worker attachment add doc.pdf --as declaration_of_conformity --audience public --tenant acme
    """
    from bpc_worker.documents.attachments import Described
    from bpc_worker.documents.mime_types import of_attachment
    from bpc_worker.files.reading import read_at_most
    from bpc_worker.pipeline.documents import Upload
    from bpc_worker.pipeline.sending import send

    mime_type = of_attachment(file.name)
    if mime_type is None:
        fail(EXIT_USAGE, f"{file}: the ending does not tell what it is", "name it .pdf, .png, .jpg or .txt")
    said = Described(what=what, audience=audience, language=language, title=title)

    async def keep(pipeline: "PipelineSession") -> "DocumentDetail":
        with refused(OSError, "name a file that can be read (limits.document_bytes)", what=f"{file}: "):
            content = read_at_most(file, pipeline.settings.limits.document_bytes)
        upload = Upload(
            content=content, kind=ATTACHMENT, mime_type=mime_type, external_ref=ref or file.name,
            mapping=said.mapping,
        )  # fmt: skip
        return await send(pipeline, upload, seconds=timeout, looked=patience())

    found = in_pipeline(config_path, tenant, keep)
    click.echo(found.sha256.hex())
    tell(f"{found.external_ref} is kept; name it with --document where a snapshot or a version is made")


@attachment.command("get")
@click.argument("id_", metavar="ID")
@click.option("--output", type=FILE, required=True, help="The file to write.")
@tenant_option
@config_option
def attachment_get(id_: str, *, output: Path, tenant: str, config_path: str | None) -> None:
    r"""Write the bytes of a document, by its name, the id of a version or its sha256, into a file.

    \b
    Example: bpc-worker attachment get doc.pdf --output copy.pdf --tenant acme
    """
    from bpc_worker.files.writing import replace_whole
    from bpc_worker.pipeline.attachments import content_of

    found, content = in_pipeline(config_path, tenant, content_of, id_)
    with refused(OSError, "name a place that can be written", what=f"{output}: "):
        replace_whole(output, content)
    tell(f"{output}: {found.bytes} bytes, {found.mime_type}, sha256 {found.sha256.hex()}")
