"""Connections that are used again: by their owner alone, for a short time, and only after a good end."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

import pytest

from bpc_worker.egress.client import Poster
from bpc_worker.egress.dns import Lookups
from bpc_worker.egress.kept_connections import LONGEST_IDLE, LONGEST_LIFE, MOST_IDLE, Lines
from bpc_worker.egress.public_address import Address
from bpc_worker.egress.sockets import GuardedSocket
from bpc_worker.egress.targets import EgressRules
from bpc_worker.handler_api import Answer, Permanent, Retryable
from tests.support.certificates import Authority
from tests.support.receivers import Listening, listening

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HANG_UP, HANG = b"", None
HOME = ip_address("127.0.0.1")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Receiver:
    """Answers the requests of a connection one after the other with these words, then with the last of them.

    No word is to hang up, None to wait for ever.
    """

    answers: list[Sequence[bytes | None]]  # by connection
    at: Listening = field(default_factory=lambda: Listening(0))
    requests: int = 0
    afterwards: bytes = b""  # said without having been asked
    hangs_up_after: int = -1  # so many requests
    said: asyncio.Event = field(default_factory=asyncio.Event)

    async def behave(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        words = iter(self.answers[min(self.at.accepted, len(self.answers)) - 1])
        answer: bytes | None = OK
        while True:
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            self.requests += 1
            answer = next(words, answer)
            if answer is None:
                await asyncio.Event().wait()
            elif not answer:
                return
            else:
                writer.write(answer)
                await writer.drain()
                if self.afterwards:
                    await asyncio.sleep(0.05)  # by now the answer is read
                    writer.write(self.afterwards)
                    await writer.drain()
                self.said.set()
            if self.requests == self.hangs_up_after:
                return


@dataclass
class Trial:
    receiver: Receiver
    poster: Poster
    lines: Lines
    clock: Clock
    url: str

    async def __call__(self, owner: object = "a") -> Answer:
        return await self.poster.post(self.url, headers={}, body=b"{}", kept_for=owner)

    async def failure(self, owner: object = "a") -> str:
        with pytest.raises((Retryable, Permanent)) as failed:
            await self(owner)
        return f"{failed.value.code}: {failed.value.message}"

    @property
    def accepted(self) -> int:
        return self.receiver.at.accepted


@asynccontextmanager
async def trial(
    *answers: Sequence[bytes | None],
    authority: Authority | None = None,
    deadline: float = 5.0,
    **more: object,
) -> AsyncIterator[Trial]:
    receiver, clock = Receiver([*answers] or [[OK]], **more), Clock()  # type: ignore[arg-type]
    tls = authority.server("127.0.0.1") if authority else None
    async with listening(receiver.behave, tls=tls) as at:
        receiver.at = at
        rules = EgressRules(
            ports=frozenset({at.port}), plain_http=True, allowed_private_networks=(ip_network("127.0.0.0/8"),)
        )
        lines = Lines(clock)
        poster = Poster(
            rules, ca_file=str(authority.ca_file) if authority else None, lines=lines, deadline=deadline
        )
        try:
            yield Trial(receiver, poster, lines, clock, f"http{'s' if tls else ''}://127.0.0.1:{at.port}/")
        finally:
            await poster.close()


@pytest.fixture(params=["http", "https"])
def tls(request: pytest.FixtureRequest, authority: Authority) -> Authority | None:
    return authority if request.param == "https" else None


async def test_the_next_request_of_an_owner_goes_over_the_same_connection(tls: Authority | None) -> None:
    async with trial(authority=tls) as ask:
        answers = [await ask() for _ in range(20)]

        assert {(each.status, each.body) for each in answers} == {(200, b"ok")}
        assert (ask.receiver.requests, ask.accepted) == (20, 1)


async def test_as_many_connections_as_requests_at_a_time(tls: Authority | None) -> None:
    async with trial(authority=tls) as ask:
        for _ in range(5):
            await asyncio.gather(*(ask() for _ in range(4)))

        assert ask.accepted == 4


async def test_owners_of_the_same_origin_share_no_connection(tls: Authority | None) -> None:
    async with trial(authority=tls) as ask:
        for _ in range(3):
            for owner in (("tenant 1", "a"), ("tenant 2", "a"), ("tenant 1", "b")):
                await ask(owner)

        assert ask.accepted == 3


async def test_without_an_owner_nothing_is_kept() -> None:
    async with trial() as ask:
        for _ in range(3):
            await ask(None)

        assert (ask.accepted, len(ask.lines)) == (3, 0)


async def test_an_owner_with_another_url_of_the_same_origin_has_the_same_connection() -> None:
    async with trial() as ask:
        await ask()
        await ask.poster.post(f"{ask.url}elsewhere?x=1", headers={}, body=b"{}", kept_for="a")

        assert ask.accepted == 1


@pytest.mark.parametrize(("step", "requests", "accepted"), [
    (LONGEST_IDLE - 0.1, 5, 1),
    (LONGEST_IDLE + 0.1, 5, 5),
    (LONGEST_IDLE - 0.1, 1 + int(LONGEST_LIFE / 4.9) + 1, 2),
])  # fmt: skip
async def test_a_connection_that_is_old_or_has_rested_for_long_is_not_used(
    step: float, requests: int, accepted: int
) -> None:
    async with trial() as ask:
        for _ in range(requests):
            await ask()
            ask.clock.now += step

        assert ask.accepted == accepted


async def test_whoever_rests_too_long_is_closed_without_being_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bpc_worker.egress.kept_connections.LONGEST_IDLE", 0.05)
    async with trial() as ask:
        await ask()
        ask.clock.now = 1.0
        async with asyncio.timeout(5):
            while len(ask.lines) or _open_sockets():
                await asyncio.sleep(0)


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno",
    b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + bytes(70_000),
    OK + OK,
], ids=["close", "1.0", "500", "404", "too long", "two answers"])  # fmt: skip
async def test_after_anything_odd_the_connection_is_not_used_again(
    answer: bytes, tls: Authority | None
) -> None:
    async with trial([answer], authority=tls) as ask:
        for _ in range(3):
            first = await ask()

        assert (ask.receiver.requests, ask.accepted) == (3, 3)
        assert first.truncated == (len(first.body) == 65_536)


async def test_an_answer_without_a_body_is_a_good_end() -> None:
    async with trial([b"HTTP/1.1 204 No Content\r\n\r\n"] * 3) as ask:
        assert [(await ask()).status for _ in range(3)] == [204, 204, 204]
        assert ask.accepted == 1


async def test_what_comes_unasked_is_the_answer_to_nothing(tls: Authority | None) -> None:
    lie = b"HTTP/1.1 299 Lie\r\nContent-Length: 2\r\n\r\nno"
    async with trial(authority=tls, afterwards=lie) as ask:
        for _ in range(2):
            ask.receiver.said.clear()
            assert (await ask()).status == 200
            await ask.receiver.said.wait()

        assert ask.accepted == 2


async def test_a_connection_that_was_closed_at_rest_is_replaced(tls: Authority | None) -> None:
    """The receiver says nothing of it and hangs up behind its answer."""
    async with trial([OK, HANG_UP], [OK], authority=tls) as ask:
        await ask()
        [task] = [each for each in asyncio.all_tasks() if "serve" in repr(each.get_coro())]
        task.cancel()
        await asyncio.wait({task})

        assert (await ask()).status == 200
        assert (ask.receiver.requests, ask.accepted) == (2, 2)


async def test_a_connection_that_is_closed_instead_of_an_answer_is_replaced_once(
    tls: Authority | None,
) -> None:
    async with trial([OK, HANG_UP], [OK], authority=tls) as ask:
        await ask()

        assert (await ask()).status == 200
        assert (ask.receiver.requests, ask.accepted) == (3, 2)


async def test_a_new_connection_without_an_answer_is_a_failure() -> None:
    async with trial([OK, HANG_UP], [HANG_UP]) as ask:
        await ask()

        assert "ended before the answer did" in await ask.failure()
        assert (ask.receiver.requests, ask.accepted) == (3, 2)


async def test_whoever_has_begun_to_answer_is_not_asked_again(tls: Authority | None) -> None:
    begun = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
    async with trial([OK, begun], [OK], authority=tls, hangs_up_after=2) as ask:
        await ask()
        assert "ended before the answer did" in await ask.failure()

        assert (ask.receiver.requests, ask.accepted) == (2, 1)


async def test_bytes_are_counted_for_each_request_anew(tls: Authority | None) -> None:
    large = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + bytes(60_000)
    flood = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;%b\r\nx\r\n" % (b"a" * 90) * 20_000
    async with trial([large] * 30 + [flood], [OK], authority=tls) as ask:
        for _ in range(30):  # 1.8 MB in all
            assert len((await ask()).body) == 60_000
        assert ask.accepted == 1

        assert "more came than an answer needs" in await ask.failure()
        assert (await ask()).status == 200
        assert (ask.receiver.requests, ask.accepted) == (32, 2)


async def test_every_request_has_the_whole_deadline_and_no_more(tls: Authority | None) -> None:
    async with trial([OK, HANG], [OK], authority=tls, deadline=0.5) as ask:
        await ask()
        began = asyncio.get_running_loop().time()
        assert (await ask.failure()).startswith("WEBHOOK_TIMEOUT")
        assert 0.4 < asyncio.get_running_loop().time() - began < 1.5

        assert (await ask()).status == 200
        assert ask.accepted == 2


async def test_only_so_many_are_kept() -> None:
    async with trial() as ask:
        for number in range(MOST_IDLE + 20):
            await ask(number)
        assert len(ask.lines) == MOST_IDLE
        before = ask.accepted
        await ask(MOST_IDLE + 19)  # of the latest
        assert ask.accepted == before
        await ask(0)  # the oldest had to go
        assert ask.accepted == before + 1

        await asyncio.gather(*(ask("many") for _ in range(15)))
        assert sum(owner[0] == "many" for owner, _ in ask.lines._resting) == 10  # type: ignore[index]


async def test_a_name_is_looked_up_and_checked_for_each_connection() -> None:
    found: list[Address] = [HOME]
    asked = []

    def resolve(name: str) -> tuple[Address, ...]:
        asked.append(name)
        return tuple(found)

    async with trial() as ask:
        ask.poster._lookups = Lookups(resolve)
        ask.url = ask.url.replace("127.0.0.1", "hooks.example")
        for _ in range(3):
            await ask()
        found[:] = [ip_address("10.0.0.1")]
        await ask()  # the connection goes where it went: to an address that was checked
        assert (len(asked), ask.accepted) == (1, 1)
        ask.clock.now = LONGEST_IDLE + 1

        assert (await ask.failure()).startswith("WEBHOOK_BLOCKED")
        assert (len(asked), ask.accepted) == (2, 1)


async def test_at_the_end_all_are_closed() -> None:
    async with trial() as ask:
        for number in range(5):
            await ask(number)
        assert _open_sockets() == 5
        await ask.poster.close()
        async with asyncio.timeout(5):
            while _open_sockets():
                await asyncio.sleep(0)


def _open_sockets() -> int:
    found = (each for each in gc.get_objects() if isinstance(each, GuardedSocket))
    return sum(each.fileno() >= 0 for each in found)
