"""Receivers that drip, hang, flood or lie: every attempt ends in time and keeps little."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

import pytest

from bpc_worker.egress.client import Poster
from bpc_worker.egress.dns import Lookups
from bpc_worker.egress.responses import MOST_BODY
from bpc_worker.egress.sockets import GuardedSocket
from bpc_worker.egress.targets import EgressRules
from bpc_worker.handler_api import Answer, Retryable
from tests.support import receivers
from tests.support.certificates import Authority
from tests.support.hostile_town import hostile_town
from tests.support.receivers import Behaviour, Listening, listening, saying

DEADLINE = 0.5
SLACK = 0.5  # of a busy machine
LOCAL = (ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@dataclass
class Ask:
    """A receiver, and the way to ask it."""

    receiver: Listening
    poster: Poster
    url: str

    async def __call__(self, body: bytes = b"{}", **headers: str) -> Answer:
        return await self.poster.post(self.url, headers=headers, body=body)

    async def failure(self, body: bytes = b"{}") -> str:
        with pytest.raises(Retryable) as failed:
            await self(body)
        return f"{failed.value.code}: {failed.value.message}"


@asynccontextmanager
async def asking(
    behave: Behaviour, *, ca: Path | None = None, deadline: float = DEADLINE, **tls: object
) -> AsyncIterator[Ask]:
    scheme = "https" if ca else "http"
    async with listening(behave, **tls) as receiver:  # type: ignore[arg-type]  # tls=…
        rules = EgressRules(ports=frozenset({receiver.port}), plain_http=True, allowed_private_networks=LOCAL)
        poster = Poster(rules, ca_file=str(ca) if ca else None, deadline=deadline)
        yield Ask(receiver, poster, f"{scheme}://127.0.0.1:{receiver.port}/")


@asynccontextmanager
async def both_ways(
    behave: Behaviour, authority: Authority, *, deadline: float = 5.0
) -> AsyncIterator[list[Ask]]:
    tls = authority.server("127.0.0.1")
    async with (
        asking(behave, deadline=deadline) as plain,
        asking(behave, deadline=deadline, ca=authority.ca_file, tls=tls) as sealed,
    ):
        yield [plain, sealed]


@pytest.mark.parametrize("behave", receivers.HANGING.values(), ids=receivers.HANGING)
async def test_whoever_hangs_or_drips_has_one_deadline_for_all_of_it(
    behave: Behaviour, authority: Authority
) -> None:
    async with both_ways(behave, authority, deadline=DEADLINE) as asks:
        began = time.monotonic()
        ends = await asyncio.gather(*(ask.failure() for ask in asks))

        assert [each.split(":")[0] for each in ends] == ["WEBHOOK_TIMEOUT"] * 2
        assert time.monotonic() - began < DEADLINE + SLACK


@pytest.mark.parametrize("behave", receivers.HANGING_IN_TLS.values(), ids=receivers.HANGING_IN_TLS)
async def test_a_handshake_that_hangs_or_drips_is_within_the_deadline(
    behave: Behaviour, authority: Authority
) -> None:
    async with asking(behave, ca=authority.ca_file) as ask:
        began = time.monotonic()

        assert (await ask.failure()).startswith("WEBHOOK_TIMEOUT: 127.0.0.1: no whole answer within 0.5 s")
        assert time.monotonic() - began < DEADLINE + SLACK


@pytest.mark.parametrize("behave", receivers.CUT.values(), ids=receivers.CUT)
async def test_of_a_body_without_end_the_first_64_kib_are_kept_as_they_came(
    behave: Behaviour, authority: Authority
) -> None:
    async with both_ways(behave, authority) as asks:
        for ask in asks:
            answer = await ask()

            assert (answer.status, len(answer.body), answer.truncated) == (200, 65_536, True)
            packed = ("Content-Encoding", "gzip") in answer.headers
            assert answer.body.startswith(b"\x1f\x8b" if packed else b"xxx")


@pytest.mark.parametrize("behave", receivers.TOO_MUCH.values(), ids=receivers.TOO_MUCH)
async def test_a_head_without_end_is_no_answer(behave: Behaviour, authority: Authority) -> None:
    async with both_ways(behave, authority) as asks:
        for ask in asks:
            assert (await ask.failure()).startswith("WEBHOOK_FAILED: 127.0.0.1: ")


async def test_much_wrapping_around_little_ends_as_well() -> None:
    async with asking(receivers.tiny_chunks, deadline=5.0) as ask:
        assert "more came than an answer needs" in await ask.failure()


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (receivers.not_http, "not HTTP"),
        (receivers.broken_off, "ended before the answer did"),
        (receivers.closing, "ended before the answer did"),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), "not HTTP"),
    ],
)
async def test_what_is_not_a_whole_answer_in_http_is_a_failure(behave: Behaviour, words: str) -> None:
    async with asking(behave) as ask:
        failed = await ask.failure()

    assert failed.startswith("WEBHOOK_FAILED: 127.0.0.1: ")
    assert words in failed


@pytest.mark.parametrize(
    ("flaws", "words"),
    [
        ({"names": ["127.0.0.1"], "expired": True}, "certificate has expired"),
        ({"names": ["127.0.0.1"], "self_signed": True}, "self-signed certificate"),
        ({"names": ["other.example"]}, "not valid for"),
    ],
    ids=["expired", "self-signed", "wrong name"],
)
async def test_a_certificate_that_is_not_good_is_told(
    flaws: dict[str, object], words: str, authority: Authority
) -> None:
    names = flaws.pop("names")
    context = authority.server(*names, **flaws)  # type: ignore[misc, arg-type]  # of the table above
    async with asking(receivers.good, ca=authority.ca_file, tls=context) as ask:
        failed = await ask.failure()
        flaws["names"] = names

    assert failed.startswith("WEBHOOK_FAILED: 127.0.0.1: TLS failed: ")
    assert words in failed
    assert ask.receiver.accepted == 0


async def test_the_port_without_a_listener_and_the_plain_one_behind_https_are_told(
    authority: Authority,
) -> None:
    async def talk_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with asking(talk_at_once, ca=authority.ca_file) as ask:
        assert "TLS failed" in await ask.failure()
    assert "no connection: Connect call failed" in await ask.failure()


async def test_headers_and_body_are_sent_as_given_and_the_answer_is_told() -> None:
    seen: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        seen.append(await reader.readexactly(7))
        writer.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nSet-Cookie: a=b\r\nX-Odd: \xff\r\n\r\nlater")
        writer.close()

    async with asking(behave) as ask:
        first = await ask(b'{"a":1}', **{"Content-Type": "application/json", "X-BPC-Event-Type": "E"})
        second = await ask(b'{"a":2}')

    assert (first.status, first.body, first.truncated) == (503, b"later", False)
    assert first.headers == (("Retry-After", "7"), ("Set-Cookie", "a=b"), ("X-Odd", "\ufffd"))
    assert second.status == 503
    head = seen[0].decode().splitlines()
    assert head[0] == "POST / HTTP/1.1"
    assert {"Content-Type: application/json", "X-BPC-Event-Type: E", "Accept-Encoding: identity"} <= {*head}
    assert seen[1] == b'{"a":1}'
    assert b"cookie" not in seen[2].lower()


async def test_of_long_headers_only_the_first_16_kib_are_kept() -> None:
    long = b"".join(b"X-%d: %s\r\n" % (number, b"v" * 4000) for number in range(20))
    async with asking(saying(b"HTTP/1.1 200 OK\r\n" + long + b"Content-Length: 0\r\n\r\n")) as ask:
        answer = await ask()

    assert [name for name, _ in answer.headers] == ["X-0", "X-1", "X-2", "X-3"]


async def test_a_body_of_just_64_kib_is_whole() -> None:
    exact = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MOST_BODY + b"x" * MOST_BODY
    async with asking(saying(exact)) as ask:
        answer = await ask()

    assert (len(answer.body), answer.truncated) == (MOST_BODY, False)


@pytest.mark.filterwarnings("ignore:Sending a large body")  # larger than what the kernel takes for it
async def test_a_receiver_that_reads_nothing_of_a_large_body_is_dropped_at_the_deadline() -> None:
    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # of the transport that reads
        await asyncio.Event().wait()

    async with asking(behave) as ask:
        assert (await ask.failure(bytes(50_000_000))).startswith("WEBHOOK_TIMEOUT")
        await _all_sockets_closed()


async def test_a_request_that_is_cancelled_lets_go_of_its_connection() -> None:
    came, gone = asyncio.Event(), asyncio.Event()

    async def behave(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.set()
        await reader.read()
        gone.set()

    async with asking(behave, deadline=60) as ask:
        request = asyncio.ensure_future(ask())
        await came.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        async with asyncio.timeout(5):
            await gone.wait()


async def test_a_name_server_that_hangs_is_within_the_deadline() -> None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[None] = loop.create_future()

    def hang(_: str) -> tuple[()]:
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(answer, 30), loop).result()
        return ()

    poster = Poster(EgressRules(ports=frozenset({443})), lookups=Lookups(hang, seconds=30), deadline=DEADLINE)
    began = time.monotonic()
    with pytest.raises(Retryable, match="WEBHOOK_TIMEOUT"):
        await poster.post("https://hooks.example/", headers={}, body=b"")

    assert time.monotonic() - began < DEADLINE + SLACK
    answer.set_result(None)


async def test_good_receivers_are_reached_beside_many_bad_ones(authority: Authority) -> None:
    fine = listening(receivers.good, tls=authority.server("127.0.0.1"))
    with hostile_town(authority, "127.0.0.1") as ports:
        async with fine as good:
            rules = EgressRules(ports=frozenset({good.port, *ports.values()}), allowed_private_networks=LOCAL)
            poster = Poster(rules, ca_file=str(authority.ca_file), deadline=2.0)

            async def send(port: int) -> float:
                began = time.monotonic()
                with nullcontext() if port == good.port else suppress(Retryable):
                    await poster.post(f"https://127.0.0.1:{port}/", headers={}, body=b"{}")
                return time.monotonic() - began

            bad = [asyncio.ensure_future(send(port)) for port in [*ports.values()] * 2]
            took = sorted([await send(good.port) for _ in range(40)])
            lasted = await asyncio.gather(*bad)

            assert took[37] < 1.0
            assert max(lasted) < 2.0 + SLACK
        await _all_sockets_closed()


async def _all_sockets_closed() -> None:
    async with asyncio.timeout(5):  # a transport closes its socket in one of the next rounds of the loop
        while _open_sockets():
            await asyncio.sleep(0)


def _open_sockets() -> int:
    found = (each for each in gc.get_objects() if isinstance(each, GuardedSocket))
    return sum(each.fileno() >= 0 for each in found)
