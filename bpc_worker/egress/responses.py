"""What is kept of a receiver's answer, and whether its connection is good for another one."""

from collections.abc import Iterable, Iterator

import aiohttp

from bpc_worker.handler_api import Answer

MOST_BODY = 64 * 1024
_NO_CONTENT = 204
_MOST_HEAD = 16 * 1024  # of the headers that are kept, all together


async def read_answer(response: aiohttp.ClientResponse) -> Answer:
    """The first 64 KiB of the body; where there is more, it is not read, and the connection is dropped."""
    body = bytearray()
    while len(body) <= MOST_BODY:
        piece = await response.content.read(MOST_BODY + 1 - len(body))
        if not piece:
            break
        body += piece
    return Answer(
        status=response.status,
        headers=tuple(_fitting(response.raw_headers)),
        body=bytes(body[:MOST_BODY]),
        truncated=len(body) > MOST_BODY,
    )


def ends_well(response: aiohttp.ClientResponse, answer: Answer) -> bool:
    """A success, and all of it read; whoever ends his answer by hanging up has hung up."""
    told = response.headers
    has_end = "Content-Length" in told or "chunked" in told.get("Transfer-Encoding", "").lower()
    return (
        answer.status // 100 == 2  # noqa: PLR2004 - the class of success
        and not answer.truncated
        and response.version == aiohttp.HttpVersion11
        and "close" not in told.get("Connection", "").lower()
        and (has_end or answer.status == _NO_CONTENT)
    )


def _fitting(raw: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    """In their order, as long as there is room."""
    room = _MOST_HEAD
    for name, value in raw:
        room -= len(name) + len(value)
        if room < 0:
            return
        yield _text(name), _text(value)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\x00", "\ufffd")
