"""Name servers that hang: no lookup waits for another, and threads have an end."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from bpc_worker.egress.dns import Lookups, ask_the_system
from bpc_worker.egress.public_address import Address
from bpc_worker.handler_api import Retryable

GOOD = (ip_address("8.8.8.8"),)


class Names:
    """Names that begin with `slow` are answered when the test says so."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.asked: Counter[str] = Counter()

    def __call__(self, host: str) -> tuple[Address, ...]:
        self.asked[host] += 1
        if host.startswith("slow"):
            self.release.wait(timeout=30)
        if host.startswith("unknown"):
            raise OSError(host)
        return GOOD


@pytest.fixture
def names() -> Iterator[Names]:
    made = Names()
    yield made
    made.release.set()


async def failure(lookups: Lookups, host: str) -> str:
    with pytest.raises(Retryable) as failed:
        await lookups.addresses(host)
    return f"{failed.value.code}: {failed.value.message}"


async def test_a_name_has_its_addresses(names: Names) -> None:
    assert await Lookups(names).addresses("hooks.example") == GOOD


async def test_a_name_without_addresses_may_have_some_later(names: Names) -> None:
    assert await failure(Lookups(names), "unknown.example") == (
        "WEBHOOK_FAILED: unknown.example: the name has no address"
    )
    assert "no address" in await failure(Lookups(lambda _: ()), "empty.example")


async def test_one_that_hangs_is_given_up_and_holds_up_nobody(names: Names) -> None:
    lookups = Lookups(names, seconds=0.01)

    assert (await failure(lookups, "slow.example")).startswith("WEBHOOK_TIMEOUT: slow.example: no address")
    assert await lookups.addresses("hooks.example") == GOOD


async def test_a_name_that_hangs_has_one_thread_however_often_it_is_asked_for(names: Names) -> None:
    lookups = Lookups(names, seconds=0.01)
    await asyncio.gather(*(failure(lookups, "slow.example") for _ in range(50)))
    await failure(lookups, "slow.example")

    assert names.asked["slow.example"] == 1
    assert lookups.under_way == 1


async def test_threads_have_a_limit_and_come_back(names: Names) -> None:
    lookups = Lookups(names, seconds=0.01, most=3)
    for number in range(3):
        await failure(lookups, f"slow{number}.example")
    refused = await failure(lookups, "hooks.example")

    assert refused.startswith("WEBHOOK_TIMEOUT: too many names")
    assert sum(names.asked.values()) == 3
    lookup = lookups._under_way["slow0.example"]
    names.release.set()
    await lookup
    assert await lookups.addresses("hooks.example") == GOOD


async def test_the_answer_of_a_shared_lookup_goes_to_all_who_still_wait(names: Names) -> None:
    lookups = Lookups(names)
    first, second = (asyncio.ensure_future(lookups.addresses("slow.example")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    names.release.set()

    assert await second == GOOD
    assert names.asked["slow.example"] == 1
    assert lookups.under_way == 0


async def test_a_thread_does_not_hold_up_the_end_of_the_process(names: Names) -> None:
    await failure(Lookups(names, seconds=0.01), "slow.example")
    [thread] = [each for each in threading.enumerate() if each.name == "lookup"]

    assert thread.daemon


def test_the_system_reads_numbers_as_we_do() -> None:
    for spelled in ("127.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.0.0.1"):
        assert ask_the_system(spelled) == (ip_address("127.0.0.1"),)
    assert ask_the_system("::1") == (ip_address("::1"),)


async def test_names_that_hang_cost_their_own_tenant(names: Names) -> None:
    lookups = Lookups(names, seconds=1, most=16)
    slow = [lookups.addresses(f"slow{number}.example", tenant="bad") for number in range(16)]
    ends = await asyncio.gather(*slow, return_exceptions=True)

    assert all(isinstance(each, Retryable) for each in ends)
    assert lookups.under_way == 2  # an eighth
    assert await lookups.addresses("hooks.example", tenant="good") == GOOD
    names.release.set()
    async with asyncio.timeout(10):
        while lookups.under_way:
            await asyncio.sleep(0)
    assert await lookups.addresses("slow0.example", tenant="bad") == GOOD
