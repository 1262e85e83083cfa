"""A document as it is sent in: its bytes and what is said about them, in parts or in headers."""

from urllib.parse import unquote

import msgspec

from bpc_worker.documents.attachment_kinds import ATTACHMENT
from bpc_worker.documents.attachments import described
from bpc_worker.documents.mapping import titles
from bpc_worker.documents.mime_types import by_ending, of_attachment
from bpc_worker.documents.model import KINDS
from bpc_worker.documents.reading.decimal_text import SPELLINGS
from bpc_worker.handler_api import Priority
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.documents import Upload
from bpc_worker.web.api.bodies import Part, as_json, media_type_of, parts_of
from bpc_worker.web.api.described import MULTIPART
from bpc_worker.web.api.preferences import priority
from bpc_worker.web.layer.request import Request

MOST_BESIDE = 64 * 1024  # of what is said about a document
_LONGEST_NAME = 500
_FIELDS = ("external_ref", "kind", "mime_type", "number_format", "mapping", "priority")
HEADERS = {
    "BPC-Kind": f"What it is: {', '.join(KINDS)}.",
    "BPC-External-Ref": "Its name with whoever sends it, percent-encoded.",
    "BPC-Number-Format": "Of a CSV: 1.234,56 or 1,234.56.",
    "BPC-Mapping": "What its own titles mean, or what an attachment is: JSON.",
    "BPC-Priority": "0 to 3.",
}


class UploadForm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Parts of multipart/form-data; `file` has the bytes, and a name that is `external_ref` by default."""

    file: bytes
    kind: str
    external_ref: str | None = None
    mime_type: str | None = None
    number_format: str | None = None
    mapping: str | None = None
    priority: str | None = None


def upload_of(request: Request) -> tuple[Upload, Priority | None]:
    if media_type_of(request) == MULTIPART:
        content, said = _of_parts(parts_of(request))
    else:
        content, said = request.given(bytes), _of_headers(request)
    kind, name = said.get("kind"), said.get("external_ref")
    if kind not in KINDS:
        raise Permanent(Code.VALIDATION_ERROR, f"kind: one of {', '.join(KINDS)}")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise Permanent(Code.VALIDATION_ERROR, "external_ref: the name of the document, 1 to 500 characters")
    ending = of_attachment if kind == ATTACHMENT else by_ending
    mime_type = said.get("mime_type") or ending(name)
    if mime_type is None:
        raise Permanent(Code.VALIDATION_ERROR, "mime_type is missing: the name does not tell what it is")
    number_format = said.get("number_format")
    if number_format not in SPELLINGS:
        raise Permanent(Code.VALIDATION_ERROR, "number_format: 1.234,56 or 1,234.56")
    upload = Upload(
        content=content,
        kind=kind,
        mime_type=mime_type,
        number_format=number_format,
        mapping=_mapping(kind, said.get("mapping")),
        external_ref=name,
    )
    return upload, priority(request, said.get("priority"))


def _mapping(kind: str, text: str | None) -> dict[str, object] | None:
    """What the sender's own titles mean; of an attachment, what it is."""
    found = None if text is None else as_json(text.encode(), dict[str, object], "mapping")
    try:
        if kind == ATTACHMENT:
            described(found)
        elif found is not None:
            titles(found)
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"mapping: {error}") from error
    return found


def _of_parts(parts: list[Part]) -> tuple[bytes, dict[str, str]]:
    files = [each for each in parts if each.name == "file"]
    if len(files) != 1:
        raise Permanent(Code.VALIDATION_ERROR, "one part called `file` is expected, with the document")
    [file] = files
    said: dict[str, str] = {} if file.file is None else {"external_ref": file.file}
    for each in parts:
        if each.name == "file":
            continue
        if each.name not in _FIELDS:
            raise Permanent(
                Code.VALIDATION_ERROR, f"the part {each.name[:100]!r} is not known here: {', '.join(_FIELDS)}"
            )
        if len(each.content) > MOST_BESIDE:
            raise Permanent(Code.PAYLOAD_TOO_LARGE, f"the part {each.name!r} is too long")
        said[each.name] = each.text()
    return file.content, said


def _of_headers(request: Request) -> dict[str, str]:
    names = {"BPC-Kind": "kind", "BPC-Number-Format": "number_format", "BPC-Mapping": "mapping",
             "BPC-Priority": "priority"}  # fmt: skip
    said = {field: request.headers[name] for name, field in names.items() if name in request.headers}
    if "BPC-External-Ref" in request.headers:
        said["external_ref"] = unquote(request.headers["BPC-External-Ref"])
    media_type = media_type_of(request)
    return said | ({"mime_type": media_type} if media_type else {})
