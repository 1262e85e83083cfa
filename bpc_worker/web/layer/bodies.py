"""Query and body as the route's types, within their limits of size and time."""

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, get_args, get_origin, get_type_hints
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.routes import Route

FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS = 5000  # of a form: ids that were ticked
_BYTES_PER_SECOND = 16 * 1024  # slower than that nobody uploads


async def read_body(asked: web.BaseRequest, most_bytes: int, seconds: float) -> bytes:
    length = asked.content_length
    if length is not None and length > most_bytes:
        raise _too_large(most_bytes)
    if asked.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refused(415, Code.VALIDATION_ERROR, "send the body without Content-Encoding")
    if asked.headers.get("Expect", "").lower() == "100-continue":
        await asked.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        asked.writer.output_size = 0  # it is no part of the answer
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds) as limit:
            while part := await asked.content.readany():
                size += len(part)
                if size > most_bytes:
                    raise _too_large(most_bytes)
                parts.append(part)
                if (ends_at := limit.when()) is not None:
                    limit.reschedule(ends_at + len(part) / _BYTES_PER_SECOND)
    except TimeoutError:
        raise Refused(
            408, Code.VALIDATION_ERROR, "the body did not come in time", headers={"Connection": "close"}
        ) from None
    except web.RequestPayloadError:
        raise Refused(400, Code.VALIDATION_ERROR, "the body ended too early") from None
    return b"".join(parts)


def _too_large(most_bytes: int) -> Refused:
    return Refused(
        413, Code.PAYLOAD_TOO_LARGE, f"the body is larger than {most_bytes} bytes",
        next_="send less at a time", headers={"Connection": "close"},
    )  # fmt: skip


def fields_of(text: str, *, most: int = 100) -> dict[str, list[str]]:
    """Of a query or a form."""
    try:
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=most) if text else {}
    except ValueError:  # UnicodeDecodeError is one
        raise Permanent(Code.VALIDATION_ERROR, "the parameters are not UTF-8, or too many") from None


def form_of(raw: bytes, content_type: str) -> dict[str, list[str]] | None:
    """The fields of a form; None of what is none."""
    if _media_type(content_type) != FORM:
        return None
    try:
        return fields_of(raw.decode("ascii"), most=_MOST_FIELDS)
    except UnicodeDecodeError:
        raise Permanent(Code.VALIDATION_ERROR, "a form is ASCII, and the rest percent-encoded") from None


def query_of(route: Route, fields: Mapping[str, list[str]]) -> object:
    """What a route does not know is refused, so that nobody believes it is heeded."""
    return None if route.query is None else _typed(fields, route.query, "parameter")


def body_of(route: Route, raw: bytes, content_type: str, form: Mapping[str, list[str]] | None) -> object:
    if route.body is None:
        return None
    if route.body is bytes:
        return raw
    if form is not None:
        return _typed({name: each for name, each in form.items() if name != "csrf"}, route.body, "field")
    if _media_type(content_type) != "application/json":
        raise Refused(415, Code.VALIDATION_ERROR, "the body is to be application/json")
    try:
        return msgspec.json.decode(raw, type=route.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # ValidationError is one
        raise Permanent(Code.VALIDATION_ERROR, f"the body: {error}") from None


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _typed(fields: Mapping[str, list[str]], wanted: type, what: str) -> object:
    lists = _lists(wanted)
    twice = next((name for name, each in fields.items() if len(each) > 1 and name not in lists), None)
    if twice is not None:
        raise Permanent(Code.VALIDATION_ERROR, f"the {what} {twice[:100]!r} is there twice")
    given = {name: each if name in lists else each[0] for name, each in fields.items()}
    try:
        return msgspec.convert(given, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"{what}s: {error}") from None


@cache
def _lists(wanted: type) -> frozenset[str]:
    """The fields that may be there more than once."""
    names: dict[str, str] = {each.name: each.encode_name for each in msgspec.structs.fields(wanted)}
    return frozenset(names[name] for name, hint in get_type_hints(wanted).items() if _is_list(hint))


def _is_list(hint: Any) -> bool:
    return get_origin(hint) in {list, tuple} or any(
        get_origin(each) in {list, tuple} for each in get_args(hint)
    )
