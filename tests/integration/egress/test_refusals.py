"""Places that no request may reach: nobody listens in vain, and no connection is even tried."""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from bpc_worker.egress.client import Poster
from bpc_worker.egress.dns import Lookups
from bpc_worker.egress.kept_connections import _Known
from bpc_worker.egress.public_address import Address
from bpc_worker.egress.targets import EgressRules
from bpc_worker.handler_api import Answer, JobError, Permanent
from tests.support.certificates import Authority
from tests.support.connects import connects
from tests.support.receivers import Listening, good, listening, saying

# Public in the eyes of the rule; nothing is sent there, because no name below stands for it alone.
PUBLIC = "93.184.216.34"

NAMES = {
    "loopback.example": ["127.0.0.1"],
    "loopback6.example": ["::1"],
    "private.example": ["10.0.0.1"],
    "link-local.example": ["169.254.1.1"],
    "metadata.example": ["169.254.169.254"],
    "metadata6.example": ["fd00:ec2::254"],
    "azure.example": ["168.63.129.16"],
    "carrier.example": ["100.64.0.1"],
    "multicast.example": ["224.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "compatible.example": ["::127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "6to4.example": ["2002:7f00:1::1"],
    "any.example": ["0.0.0.0"],  # noqa: S104 - nobody listens
    "scoped.example": ["fe80::1%lo"],
    "good-and-bad.example": [PUBLIC, "127.0.0.1"],
    "bad-and-good.example": ["127.0.0.1", PUBLIC],
    "two-families.example": [PUBLIC, "::1"],
    "many.example": [*(f"93.184.216.{last}" for last in range(1, 200)), "127.0.0.1"],
}

LITERALS = [
    "127.0.0.1", "127.1", "2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.1", "127.0.0.1.",
    "①②⑦.⓪.⓪.①", "127。0。0。1", "0", "0.0.0.0", "10.0.0.1", "192.168.0.1", "172.16.0.1",  # noqa: S104
    "169.254.169.254", "2852039166", "0xa9fea9fe", "168.63.129.16", "100.64.0.1", "100.100.100.200",
    "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1]",
    "[fe80::1%25lo]", "[fec0::1]", "[fd00::1]", "[ff02::1]", "[::ffff:0:127.0.0.1]",
]  # fmt: skip


@dataclass
class Names:
    """A resolver that answers from a list; a name with several answers gives them one after the other."""

    answers: dict[str, list[list[str]]]
    asked: list[str] = field(default_factory=list)

    def __call__(self, host: str) -> tuple[Address, ...]:
        self.asked.append(host)
        turns = self.answers[host]
        return tuple(map(ip_address, turns.pop(0) if len(turns) > 1 else turns[0]))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def tls(authority: Authority) -> ssl.SSLContext:
    return authority.server("localhost", "127.0.0.1", *NAMES)


@pytest.fixture
def tried() -> Iterator[list[str]]:
    with connects() as seen:
        yield seen


@pytest.fixture
async def local(tls: ssl.SSLContext) -> AsyncIterator[list[Listening]]:
    """On every loopback address and the same port, so that whoever comes there is counted."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(listening(good, tls=tls))
        second = await stack.enter_async_context(listening(good, tls=tls, host="::1", port=first.port))
        yield [first, second]


def poster(
    port: int,
    *allowed_private_networks: str,
    names: Names | None = None,
    http: bool = False,
    ca: Path | None = None,
) -> Poster:
    rules = EgressRules(
        ports=frozenset({port}),
        plain_http=http,
        allowed_private_networks=tuple(ip_network(hole) for hole in allowed_private_networks),
    )
    lookups = Lookups(names or Names({name: [each] for name, each in NAMES.items()}))
    return Poster(rules, lookups=lookups, deadline=5.0, ca_file=str(ca) if ca else None)


async def end(sender: Poster, url: str) -> str:
    try:
        answer = await sender.post(url, headers={}, body=b"{}")
    except JobError as error:
        return f"{type(error).__name__} {error.code}"
    return str(answer.status)


@pytest.mark.parametrize("host", [*LITERALS, *NAMES])
async def test_no_connection_is_tried_to_what_is_not_public(
    host: str, local: list[Listening], tried: list[str]
) -> None:
    for http in (False, True):
        url = f"{'http' if http else 'https'}://{host}:{local[0].port}/"
        assert await end(poster(local[0].port, http=http), url) == "Permanent WEBHOOK_BLOCKED"

    assert tried == []
    assert [each.accepted for each in local] == [0, 0]


@pytest.mark.parametrize("host", ["localhost", "127.1", "[::1]"])
async def test_they_are_reached_through_a_hole_so_these_tests_can_fail(
    host: str, local: list[Listening], tried: list[str], authority: Authority
) -> None:
    names = Names({"localhost": [["127.0.0.1"]]})
    sender = poster(local[0].port, "127.0.0.0/8", "::1/128", names=names, ca=authority.ca_file)
    ended = await end(sender, f"https://{host}:{local[0].port}/")

    assert ended == ("200" if host != "[::1]" else "Retryable WEBHOOK_FAILED")  # not in the certificate
    assert sum(each.accepted for each in local) == (1 if ended == "200" else 0)
    assert len(tried) == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://user@127.0.0.1:{port}/",
        "https://public.example@127.0.0.1:{port}/",
        "https://public.example:443@127.0.0.1:{port}/",
        "https://public.example\\@127.0.0.1:{port}/",
        "https://127.0.0.1:{port}\\@public.example/",
        "https://[::1%25lo]:{port}/",
        "http://public.example:{port}/",
        "https://localhost:{other}/",
        "https://localhost/",
    ],
)
async def test_tricks_with_users_schemes_and_ports_lead_nowhere(
    url: str, local: list[Listening], tried: list[str]
) -> None:
    port = local[0].port
    sender = poster(port, "127.0.0.0/8", "::1/128", names=Names({"localhost": [["127.0.0.1"]]}))

    assert await end(sender, url.format(port=port, other=port + 1)) == "Permanent WEBHOOK_BLOCKED"
    assert tried == []


async def test_a_redirect_is_an_answer_and_nobody_follows_it(
    local: list[Listening], tried: list[str]
) -> None:
    port = local[0].port
    for status in (301, 302, 303, 307, 308):
        to = f"HTTP/1.1 {status} Moved\r\nLocation: https://127.0.0.1:{port}/\r\nContent-Length: 0\r\n\r\n"
        async with listening(saying(to.encode())) as redirecting:
            sender = poster(redirecting.port, "127.0.0.0/8", http=True)
            assert await end(sender, f"http://127.0.0.1:{redirecting.port}/") == str(status)

    assert len(tried) == 5
    assert local[0].accepted == 0


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(good) as proxy, listening(good) as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{proxy.port}")
        sender = poster(receiver.port, "127.0.0.0/8", http=True)
        reached = await end(sender, f"http://127.0.0.1:{receiver.port}/")
        refused = await end(poster(443), "https://10.0.0.1/")

    assert (reached, refused) == ("200", "Permanent WEBHOOK_BLOCKED")
    assert (proxy.accepted, receiver.accepted) == (0, 1)


async def test_a_name_that_changes_its_mind_is_asked_once_and_pinned(tried: list[str]) -> None:
    names = Names({"rebinding.example": [["127.0.0.1"], ["10.0.0.1"], ["127.0.0.1", "10.0.0.1"]]})
    async with listening(good) as receiver:
        sender = poster(receiver.port, "127.0.0.0/8", names=names, http=True)
        url = f"http://rebinding.example:{receiver.port}/"
        ends = [await end(sender, url) for _ in range(3)]

    assert ends == ["200", "Permanent WEBHOOK_BLOCKED", "Permanent WEBHOOK_BLOCKED"]
    assert len(names.asked) == 3  # once a request
    assert tried == ["127.0.0.1"]


async def test_the_socket_itself_refuses_an_address_that_was_not_checked(
    local: list[Listening], tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if something between the check and the socket had asked another resolver."""
    names = Names({"public.example": [[PUBLIC]]})
    resolve = _Known.resolve

    async def elsewhere(_: _Known, host: str, port: int = 0, **more: object) -> object:
        del more
        return await resolve(_Known((ip_address("127.0.0.1"),)), host, port)

    monkeypatch.setattr(_Known, "resolve", elsewhere)
    ended = await end(poster(local[0].port, names=names), f"https://public.example:{local[0].port}/")

    assert ended == "Permanent WEBHOOK_BLOCKED"
    assert tried == []
    assert local[0].accepted == 0


async def test_a_refusal_tells_why_and_not_the_path() -> None:
    with pytest.raises(Permanent) as refused:
        await poster(443).post("https://metadata.example/T0KEN?key=T0KEN", headers={}, body=b"")

    assert "metadata.example, at 169.254.169.254: link-local" in refused.value.message
    assert "T0KEN" not in str(refused.value)


async def test_names_and_addresses_are_checked_by_tls(authority: Authority) -> None:
    async def ask(host: str, *certified: str) -> str:
        async with listening(good, tls=authority.server(*certified)) as receiver:
            names = Names({name: [["127.0.0.1"]] for name in ("hooks.example", "hooks.example.")})
            sender = poster(receiver.port, "127.0.0.0/8", names=names, ca=authority.ca_file)
            return await end(sender, f"https://{host}:{receiver.port}/")

    assert await ask("hooks.example", "hooks.example") == "200"
    assert await ask("hooks.example.", "hooks.example") == "200"
    assert await ask("127.0.0.1", "127.0.0.1") == "200"
    assert await ask("hooks.example", "other.example") == "Retryable WEBHOOK_FAILED"
    assert await ask("hooks.example", "127.0.0.1") == "Retryable WEBHOOK_FAILED"
    assert await ask("127.0.0.1", "hooks.example") == "Retryable WEBHOOK_FAILED"


def test_an_answer_is_a_value() -> None:
    assert Answer(200) == Answer(200, (), b"", truncated=False)
