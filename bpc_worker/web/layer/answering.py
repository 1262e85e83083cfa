"""Answers as they are sent: their bytes, tags and headers, or that nothing has changed."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web

from bpc_worker.jobs.errors import JobError
from bpc_worker.web.layer.answers import Answer, Data, Empty, Page, Raw, SeeOther, Stream
from bpc_worker.web.layer.headers import security_headers
from bpc_worker.web.layer.negotiation import best_media_type, is_known
from bpc_worker.web.layer.problems import MEDIA_TYPE, Refused, problem_of
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Door
from bpc_worker.web.layer.streams import MayGoOn, Streams, nobody_asks
from bpc_worker.web.layer.templates import render

HTML: Final = "text/html; charset=utf-8"
_PIECE = 64 * 1024
_AT_ONCE = 4 * _PIECE  # what the system takes from us without waiting for whoever reads
_PIECE_SECONDS = 20.0
_VARY: Final = "Accept, Accept-Language"
_VARY_BY_WHO: Final = f"{_VARY}, Authorization, Cookie"


async def answered(
    answer: Answer,
    door: Door,
    request: Request,
    asked: web.BaseRequest,
    streams: Streams,
    may_go_on: MayGoOn = nobody_asks,
) -> web.StreamResponse:
    match answer:
        case Stream():
            return await streams.send(answer, asked, _headers(door, request, "no-store", {}), may_go_on)
        case SeeOther(path, cookies):
            location = {"Location": f"{request.origin.prefix}{path}"}
            return _response(303, b"", _headers(door, request, "no-store", location), cookies)
        case Empty(status, headers, cookies):
            return _response(status, b"", _headers(door, request, "no-store", headers), cookies)
        case Page(_, _, status, cache, headers, cookies):
            found = Raw(render(answer, request), HTML, status, cache, headers)
            return await _send(found, door, request, asked, (*cookies, *request.cookies))
        case Data(value, status, media_type, cache, headers):
            found = Raw(msgspec.json.encode(value), media_type, status, cache, headers)
            return await _send(found, door, request, asked)
        case Raw():
            return await _send(answer, door, request, asked)


async def _send(
    raw: Raw, door: Door, request: Request, asked: web.BaseRequest, cookies: tuple[str, ...] = ()
) -> web.StreamResponse:
    headers = _headers(door, request, raw.cache or door.cache, raw.headers)
    if raw.status == 200 and request.method in {"GET", "HEAD"}:  # noqa: PLR2004
        headers["ETag"] = tag = raw.tag
        if is_known(request.headers.get("If-None-Match"), tag):
            return _response(304, b"", headers, cookies)
    headers["Content-Type"] = raw.media_type
    if len(raw.body) <= _AT_ONCE or request.method == "HEAD":
        return _response(raw.status, raw.body, headers, cookies)
    return await _send_slowly(raw, headers, cookies, asked)


async def _send_slowly(
    raw: Raw, headers: dict[str, str], cookies: tuple[str, ...], asked: web.BaseRequest
) -> web.StreamResponse:
    """By pieces, each of which has its time."""
    response = web.StreamResponse(status=raw.status, headers=headers)
    _add_cookies(response, cookies)
    response.content_length = len(raw.body)
    await response.prepare(asked)
    body = memoryview(raw.body)
    for start in range(0, len(body), _PIECE):
        try:
            async with asyncio.timeout(_PIECE_SECONDS):
                await response.write(body[start : start + _PIECE])
        except TimeoutError:
            raise ConnectionResetError("the answer was not taken in time") from None
    return response


def problem_answer(error: JobError | Refused, door: Door, request: Request) -> web.Response:
    """As a page for people with browsers, else as JSON."""
    problem, more = problem_of(error)
    headers = _headers(door, request, "no-store", more)
    is_page = door.pages and best_media_type(
        request.headers.get("Accept"), (MEDIA_TYPE, "application/json", "text/html")
    ) == "text/html"  # fmt: skip
    if is_page and problem.status == 401 and request.method == "GET" and door.sign_in is not None:  # noqa: PLR2004
        return _response(303, b"", headers | {"Location": f"{request.origin.prefix}{door.sign_in}"}, ())
    if is_page:
        body, media_type = render(Page("base/error.html", problem), request), HTML
    else:
        body, media_type = msgspec.json.encode(problem), MEDIA_TYPE
    return _response(problem.status, body, headers | {"Content-Type": media_type}, ())


def bare_problem(error: JobError | Refused) -> web.Response:
    """Where so little is known of the request that there is no page for it."""
    problem, more = problem_of(error)
    headers = {**security_headers(cors=False, scheme="http"), **more, "Content-Type": MEDIA_TYPE}
    return _response(problem.status, msgspec.json.encode(problem), headers, ())


def _headers(door: Door, request: Request, cache: str, more: Mapping[str, str]) -> dict[str, str]:
    vary = _VARY_BY_WHO if door.identifies else _VARY
    usual = security_headers(cors=door.cors, scheme=request.origin.scheme)
    return {**usual, "Cache-Control": cache, "Vary": vary, **more}


def _response(status: int, body: bytes, headers: Mapping[str, str], cookies: tuple[str, ...]) -> web.Response:
    response = web.Response(status=status, body=body, headers=headers)
    _add_cookies(response, cookies)
    return response


def _add_cookies(response: web.StreamResponse, cookies: tuple[str, ...]) -> None:
    for each in cookies:
        response.headers.add("Set-Cookie", each)
