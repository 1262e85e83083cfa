"""Requests and answers over a real socket: headers, tags, types, limits, and what a mistake costs."""

import asyncio
import json
from dataclasses import replace

import pytest

from bpc_worker.web.layer.streams import LOOK_AGAIN_SECONDS
from bpc_worker.web.locks.credentials import csrf_of
from tests.integration.web.a_door import DOOR, LARGE, LIMITS, PAGES, opened, read_reply

JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"
JANE = "Cookie: bpc_session=jane"
MEANT = f"X-CSRF-Token: {csrf_of('jane')}"


async def test_what_is_asked_reaches_the_route_typed() -> None:
    async with opened() as door:
        got = await door.ask("GET /echo/a%2Fb?limit=3&state=x&state=y")
        sent = await door.ask("POST /echo/1", JSON, body=b'{"name": "n", "count": 2}')
        filled = await door.ask("POST /echo/1", FORM, body=b"name=a%20b&count=2&csrf=x")

    assert (got.status, got.json["args"], got.json["query"]) == (
        200, {"id": "a/b"}, {"limit": 3, "state": ["x", "y"]},
    )  # fmt: skip
    assert sent.json["body"] == {"name": "n", "count": 2}
    assert filled.json["body"] == {"name": "a b", "count": 2}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /echo/1?limit=x", 400), ("GET /echo/1?limit=1&limit=2", 400), ("GET /echo/1?unknown=1", 400),
        ("GET /echo/1?state=%ff", 400), ("GET /echo/1?" + "&".join(["state=x"] * 101), 400),
        ("GET /nothing", 404), ("GET //echo/1", 404), ("GET /echo/../html", 404), ("GET /echo/%2e%2e", 404),
        ("GET /ECHO/1", 404), ("GET /html/", 404), ("DELETE /html", 405), ("POST /html", 405),
        ("GET /echo/" + "x" * 3000, 404), ("GET http://test.example/html", 404), ("GET /echo/%zz", 400),
        ("OPTIONS /html", 204), ("HEAD /html", 200), ("GET /empty", 204), ("GET /moved", 303),
    ],
)  # fmt: skip
async def test_a_status_for_everything(line: str, status: int) -> None:
    async with opened() as door:
        found = await door.ask(line)

    assert found.status == status
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]
    assert "unsafe" not in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "same-origin"
    assert "permissions-policy" in found.headers
    assert found.headers["cache-control"]
    assert found.headers["server"] == "bpc-worker"
    assert "access-control-allow-origin" not in found.headers
    assert "strict-transport-security" not in found.headers


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ([JSON], b'{"name": 1}', 400), ([JSON], b'{"name": "n", "more": 1}', 400), ([JSON], b"{", 400),
        ([JSON], b"\xff", 400), ([], b"{}", 415), (["Content-Type: text/plain"], b"{}", 415),
        ([JSON], b"x" * 1001, 413), ([JSON, "Content-Encoding: gzip"], b"{}", 415),
        ([FORM], b"name=%ff", 400), ([FORM], b"name=a&name=b", 400), ([FORM], b"count=1", 400),
    ],
)  # fmt: skip
async def test_a_body_that_is_not_as_it_should_be(headers: list[str], body: bytes, status: int) -> None:
    async with opened() as door:
        found = await door.ask("POST /echo/1", *headers, body=body)

    assert found.status == status
    assert found.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "code", "next"} <= found.json.keys()


async def test_a_chunked_body_has_the_same_limit() -> None:
    head = f"POST /echo/1 HTTP/1.1\r\nHost: h\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with opened() as door:
        found = await door.say(head.encode() + b"400\r\n" + b"x" * 1024 + b"\r\n0\r\n\r\n")

    assert found.status == 413


async def test_whoever_waits_to_be_told_to_go_on_is_told() -> None:
    head = f"POST /echo/1 HTTP/1.1\r\nHost: h\r\n{JSON}\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n"
    async with opened() as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(head.encode())
        assert (await read_reply(reader)).status == 100
        writer.write(b'{"name": "n"}')
        assert (await read_reply(reader)).status == 200
        writer.close()


async def test_a_tag_of_these_bytes_saves_sending_them_again() -> None:
    async with opened() as door:
        first = await door.ask("GET /html")
        tag = first.headers["etag"]
        again = await door.ask("GET /html", f'If-None-Match: "x", {tag}')
        other = await door.ask("GET /html", 'If-None-Match: "x"')
        head = await door.ask("HEAD /html")
        missing = await door.ask("GET /nothing", "If-None-Match: *")

    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert again.headers["vary"] == first.headers["vary"] == "Accept, Accept-Language, Authorization, Cookie"
    assert other.status == 200
    assert (head.status, head.headers["etag"]) == (200, tag)
    assert head.headers["content-length"] == first.headers["content-length"]
    assert missing.status == 404


async def test_a_large_answer_comes_whole() -> None:
    async with opened() as door:
        found = await door.ask("GET /large")

    assert found.body == LARGE
    assert found.headers["cache-control"] == "public, max-age=60"


async def test_stored_text_is_text() -> None:
    async with opened() as door:
        found = await door.ask("GET /html")

    assert b"<script" not in found.body
    assert b"&lt;script&gt;" in found.body


async def test_a_bug_costs_one_answer_and_tells_nothing() -> None:
    async with opened() as door:
        found = await door.ask("GET /bug")
        after = await door.ask("GET /html")

    assert (found.status, found.json["code"]) == (500, "INTERNAL_ERROR")
    assert b"hunter2" not in found.body
    assert after.status == 200
    assert door.meter.seen == [("test", "/bug", 500), ("test", "/html", 200)]


async def test_a_database_that_is_away_and_a_full_queue_say_when_to_come_again() -> None:
    async with opened() as door:
        away, full = await door.ask("GET /away"), await door.ask("GET /full")

    assert (away.status, full.status) == (503, 429)
    assert b"db.internal" not in away.body
    assert int(away.headers["retry-after"]) > 0
    assert int(full.headers["retry-after"]) > 0


async def test_people_with_browsers_get_pages_and_programs_problems() -> None:
    html = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
    async with opened(PAGES) as door:
        page, data = await door.ask("GET /nothing", html), await door.ask("GET /nothing")
        locked, told = await door.ask("GET /mine", html), await door.ask("GET /mine")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert data.headers["content-type"] == "application/problem+json"
    assert (locked.status, locked.headers["location"]) == (303, "/echo/sign-in")
    assert (told.status, told.headers["www-authenticate"]) == (401, 'Bearer realm="bpc-worker"')


async def test_a_scope_is_needed() -> None:
    async with opened() as door:
        mine, forbidden = await door.ask("GET /mine", JANE), await door.ask("GET /forbidden", JANE)

    assert (mine.status, mine.json["who"]) == (200, "token:jane")
    assert forbidden.status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([JANE, MEANT], 200),
        ([JANE, MEANT, "Sec-Fetch-Site: same-origin"], 200),
        ([JANE, MEANT, "Origin: http://test.example"], 200),
        ([JANE], 403),
        ([JANE, "X-CSRF-Token: nonsense"], 403),
        ([JANE, f"X-CSRF-Token: {csrf_of('john')}"], 403),
        ([JANE, MEANT, "Sec-Fetch-Site: cross-site"], 403),
        ([JANE, MEANT, "Sec-Fetch-Site: same-site"], 403),
        ([JANE, MEANT, "Sec-Fetch-Site: none"], 403),
        ([JANE, MEANT, "Origin: http://evil.example"], 403),
        ([JANE, MEANT, "Origin: null"], 403),
        ([JANE, MEANT, "Origin: https://test.example"], 403),
        ([MEANT], 401),
    ],
)
async def test_a_change_is_meant_by_a_page_of_ours(headers: list[str], status: int) -> None:
    async with opened() as door:
        found = await door.ask("POST /change", JSON, *headers, body=b'{"name": "n"}')

    assert found.status == status


async def test_a_form_brings_its_word_along() -> None:
    body = f"name=n&csrf={csrf_of('jane')}".encode()
    async with opened() as door:
        found = await door.ask("POST /change", FORM, JANE, body=body)
        without = await door.ask("POST /change", FORM, JANE, body=b"name=n")

    assert (found.status, without.status) == (200, 403)


async def test_whom_a_proxy_names_gets_a_word_for_forms_by_a_cookie() -> None:
    named = ["X-User: ann", "X-Forwarded-Groups: ops"]
    async with opened(PAGES, trusted=("127.0.0.0/8",)) as door:
        first = await door.ask("GET /html", *named)
        cookie = first.headers["set-cookie"].partition(";")[0]
        word = (await door.ask("GET /mine", *named, f"Cookie: {cookie}")).json["csrf"]
        sent = b'{"name": "n"}'
        without = await door.ask("POST /change", *named, JSON, body=sent)
        with_it = await door.ask(
            "POST /change", *named, JSON, f"Cookie: {cookie}", f"X-CSRF-Token: {word}", body=sent
        )

    assert "HttpOnly; SameSite=Strict" in first.headers["set-cookie"]
    assert without.status == 403
    assert (with_it.status, with_it.json["who"]) == (200, "ann")


async def test_behind_a_proxy_addresses_are_those_outside() -> None:
    said = ["X-Forwarded-Proto: https", "X-Forwarded-Host: dpp.example", "X-Forwarded-For: 192.0.2.9"]
    async with opened(trusted=("127.0.0.0/8",), base_path="/b") as door:
        found = await door.ask("GET /b/echo/1", *said)
        outside = await door.ask("GET /echo/1", *said)
    async with opened() as door:
        unknown = await door.ask("GET /echo/1", *said)

    assert (found.json["base"], found.json["address"]) == ("https://dpp.example/b", "192.0.2.9")
    assert "strict-transport-security" in found.headers
    assert outside.status == 404
    assert (unknown.json["base"], unknown.json["address"]) == ("http://test.example", "127.0.0.1")


async def test_too_many_requests_are_told_when_to_come_again() -> None:
    async with opened(burst=3) as door:
        found = [await door.ask("GET /empty") for _ in range(5)]

    assert [each.status for each in found] == [204, 204, 204, 429, 429]
    assert int(found[-1].headers["retry-after"]) >= 1


async def test_everybody_may_read_a_door_that_is_for_everybody() -> None:
    async with opened(replace(DOOR, cors=True, identifies=False)) as door:
        found = await door.ask("GET /echo/1", JANE)
        asked = await door.ask("OPTIONS /echo/1", "Access-Control-Request-Method: GET")

    assert found.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in found.headers
    assert found.headers["vary"] == "Accept, Accept-Language"
    assert found.json["who"] == "nobody"
    assert asked.headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /html HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET /html HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /html HTTP/1.1\r\nHost: <script>\r\n\r\n",
        b"GET /html HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 <script>\r\n\r\n",
        b"POST /echo/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0",
    ],
    ids=["headers", "header", "line", "host", "no host", "no http", "two lengths"],
)
async def test_a_head_that_is_none_is_refused(sent: bytes) -> None:
    async with opened() as door:
        found = await door.say(sent)

    assert found.status == 400
    assert b"<script>" not in found.body
    assert found.headers["x-content-type-options"] == "nosniff"


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with opened(body_seconds=0.2) as door:
        sent = f"POST /echo/1 HTTP/1.1\r\nHost: h\r\n{JSON}\r\nContent-Length: 100\r\n\r\n{{".encode()
        found = await door.say(sent)

    assert found.status == 408


async def test_a_head_that_does_not_come_is_not_waited_for() -> None:
    async with opened(limits=replace(LIMITS, head_seconds=0.2)) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"GET /html HTTP/1.1\r\nHost:")
        async with asyncio.timeout(20):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
        writer.close()


async def test_streams_tell_as_it_happens_and_end_with_the_process() -> None:
    async with opened() as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"GET /live HTTP/1.1\r\nHost: h\r\n\r\n")
        head = await read_reply(reader)
        async with asyncio.timeout(20):
            await reader.readuntil(b"data: 1\n\n")
            await reader.readuntil(b":\n\n")
            assert len(door.streams) == 1
            door.streams.end()
            rest = await reader.readuntil(b"0\r\n\r\n")
        refused = await door.ask("GET /live")
        writer.close()

    assert head.headers["content-type"] == "text/event-stream"
    assert head.headers["cache-control"] == "no-store"
    assert rest.endswith(b"0\r\n\r\n")  # in good order
    assert refused.status == 503


async def test_a_stream_ends_soon_after_the_token_that_it_rests_on() -> None:
    now = 0.0
    async with opened(clock=lambda: now) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(f"GET /live/mine HTTP/1.1\r\nHost: h\r\n{JANE}\r\n\r\n".encode())
        async with asyncio.timeout(20):
            await reader.readuntil(b"data: 1\n\n")
            now = 1.5 * LOOK_AGAIN_SECONDS
            await reader.readuntil(b":\n\n")
            await reader.readuntil(b":\n\n")  # it was looked for, and is there
            door.tokens.has_ended = True
            now = 3 * LOOK_AGAIN_SECONDS
            await reader.readuntil(b"0\r\n\r\n")
        writer.close()

    assert len(door.streams) == 0


async def test_a_reader_who_goes_ends_his_stream() -> None:
    async with opened() as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"GET /live HTTP/1.1\r\nHost: h\r\n\r\n")
        async with asyncio.timeout(20):
            await reader.readuntil(b"data: 1\n\n")
            writer.transport.abort()
            while len(door.streams):
                await asyncio.sleep(0)


async def test_an_idle_connection_makes_room_for_a_new_one() -> None:
    async with opened(limits=replace(LIMITS, connections=3)) as door:
        idle = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(3)]
        found = await door.ask("GET /html")
        async with asyncio.timeout(20):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await idle[0][0].readexactly(1)
        for _, writer in idle:
            writer.close()

    assert found.status == 200


async def test_one_connection_answers_many() -> None:
    async with opened() as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        for number in range(3):
            writer.write(f"GET /echo/{number} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            assert json.loads((await read_reply(reader)).body)["args"] == {"id": str(number)}
        writer.close()
