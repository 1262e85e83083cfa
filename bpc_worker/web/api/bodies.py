"""Bodies that come in more than one form: JSON, lines of JSON, and files with what is said about them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any, TypeVar

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.api.described import JSON, MULTIPART
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request

T = TypeVar("T")

_MOST_PARTS = 200
_MOST_HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    file: str | None  # its name, where it is a file
    media_type: str
    content: bytes

    def text(self) -> str:
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            raise Permanent(Code.VALIDATION_ERROR, f"the part {self.name!r} is not UTF-8") from None


def media_type_of(request: Request) -> str:
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def refuse_media_type(*allowed: str) -> Refused:
    return Refused(415, Code.VALIDATION_ERROR, f"the body is to be {' or '.join(allowed)}")


def as_json(raw: bytes, kind: type[T], where: str = "the body") -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Permanent(Code.VALIDATION_ERROR, f"{where}: {error}") from None


def optional_json(request: Request, kind: type[T]) -> T:
    """Of a body that may be empty."""
    raw = request.given(bytes)
    if raw and media_type_of(request) != JSON:
        raise refuse_media_type(JSON)
    return as_json(raw or b"{}", kind)


def lines_of(raw: bytes, most: int) -> list[bytes]:
    """Those that are not empty."""
    lines = [line for line in raw.splitlines() if line.strip()]
    if len(lines) > most:
        raise Permanent(Code.PAYLOAD_TOO_LARGE, f"{len(lines)} lines; at most {most} at a time")
    if not lines:
        raise Permanent(Code.VALIDATION_ERROR, "the body is empty: a JSON value a line is expected")
    return lines


def parts_of(request: Request) -> list[Part]:
    """Of a body that is multipart/form-data."""
    boundary = _params(request.headers.get("Content-Type", "")).get("boundary", "")
    if media_type_of(request) != MULTIPART or not boundary:
        raise refuse_media_type(MULTIPART)
    mark = b"\r\n--" + boundary.encode("latin-1", "replace")
    _, *sections = (b"\r\n" + request.given(bytes)).split(mark, _MOST_PARTS + 1)
    if len(sections) > _MOST_PARTS:
        raise Permanent(Code.PAYLOAD_TOO_LARGE, f"at most {_MOST_PARTS} parts at a time")
    if not sections or not sections[-1].startswith(b"--"):
        raise Permanent(Code.VALIDATION_ERROR, "the body is cut short: its last boundary is missing")
    return [_part(each) for each in sections[:-1]]


def _part(section: bytes) -> Part:
    head, found, content = section.partition(b"\r\n\r\n")
    if not found or len(head) > _MOST_HEAD_BYTES:
        raise Permanent(Code.VALIDATION_ERROR, "a part of the body has no head, or one that is too long")
    headers = dict(_headers(head))
    said = _params(headers.get("content-disposition", ""))
    if "name" not in said:
        raise Permanent(Code.VALIDATION_ERROR, "a part of the body has no name")
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return Part(said["name"], said.get("filename"), media_type, content)


def _headers(head: bytes) -> Iterator[tuple[str, str]]:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        yield name.decode("latin-1").strip().lower(), value.decode("utf-8", "replace").strip()


def _params(header: str) -> Mapping[str, str]:
    """Those behind the first `;`, decoded as RFC 2231 has it."""
    message = Message()
    message["content-type"] = header.replace("\r", "").replace("\n", "")
    found: Any = message.get_params(failobj=[], unquote=True)
    return {str(name).lower(): _text(value) for name, value in found[1:]}


def _text(value: object) -> str:
    if isinstance(value, tuple):
        charset, _, text = value
        return bytes(str(text), "latin-1", "replace").decode(str(charset or "utf-8"), "replace")
    return str(value)
