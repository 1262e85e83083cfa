"""Who may open a connection, and when; in a loop whose time is its own."""

import asyncio
from collections.abc import Sequence

import pytest

from bpc_worker.postgres.gate import Allowance, Gate, Rank

pytestmark = pytest.mark.virtual_time

AT_ONCE = 8


def a_gate() -> Gate:
    return Gate(clock=asyncio.get_running_loop().time)


def replaced(rank: Rank = Rank.OTHERS) -> Allowance:
    """One whose connection broke."""
    made = Allowance(rank=rank)
    made.unopened = 0
    return made


async def times_of(gate: Gate, *allowances: Allowance, there: bool) -> Sequence[float]:
    """When each was let in; and whether somebody was there."""
    clock = asyncio.get_running_loop().time

    async def connect(allowance: Allowance) -> float:
        await gate.turn(allowance)
        at = clock()
        if there:
            gate.made(allowance)
        else:
            gate.failed(allowance)
        return at - began_at

    began_at = clock()
    return sorted(await asyncio.gather(*map(connect, allowances)))


async def test_what_is_opened_first_waits_for_nobody() -> None:
    many, others = Allowance(size=50), [Allowance() for _ in range(40)]

    assert (await times_of(a_gate(), *[many] * 50, *others, there=True))[-1] < 0.5


async def test_what_broke_is_replaced_at_two_a_second_after_the_first_few() -> None:
    times = await times_of(a_gate(), *(replaced() for _ in range(AT_ONCE + 10)), there=True)

    assert times[AT_ONCE - 1] < 0.5
    assert times[-1] == pytest.approx(5, abs=0.5)


async def test_where_nobody_is_one_knocks_a_second() -> None:
    times = await times_of(a_gate(), *(Allowance() for _ in range(10)), there=False)

    assert times == pytest.approx(range(10), abs=0.1)


async def test_while_one_tries_the_others_wait_for_him_and_not_for_long() -> None:
    gate = a_gate()
    await gate.turn(Allowance())  # and nothing is heard of it
    asked_at = asyncio.get_running_loop().time()
    await gate.turn(Allowance())

    assert asyncio.get_running_loop().time() - asked_at == pytest.approx(0.5, abs=0.1)


async def test_a_connection_that_breaks_makes_the_others_wait_for_the_first_that_is_replaced() -> None:
    gate = a_gate()
    await times_of(gate, Allowance(), there=True)
    gate.lost()

    assert (await times_of(gate, *(replaced() for _ in range(4)), there=False))[1] >= 1


async def test_leases_come_first() -> None:
    gate = a_gate()
    order = []

    async def connect(rank: Rank) -> None:
        await gate.turn(replaced(rank))
        order.append(rank)
        gate.failed(Allowance())

    await asyncio.gather(*map(connect, (Rank.OTHERS, Rank.OTHERS, Rank.CLAIMS, Rank.LEASES)))

    assert order == [Rank.OTHERS, Rank.LEASES, Rank.CLAIMS, Rank.OTHERS]


async def test_what_was_closed_in_good_order_is_not_replaced_but_opened_again() -> None:
    gate, allowance = a_gate(), Allowance()
    began_at = asyncio.get_running_loop().time()
    for _ in range(100):
        await times_of(gate, allowance, there=True)
        gate.closed(allowance)

    assert asyncio.get_running_loop().time() - began_at < 0.5


async def test_of_those_with_two_unanswered_statements_one_at_a_time_asks() -> None:
    gate = a_gate()
    await times_of(gate, Allowance(), there=True)
    first, second = Allowance(), Allowance()
    first.unanswered, second.unanswered = {1, 2}, {3, 4}
    await gate.turn(first)
    waiting = asyncio.create_task(gate.turn(second))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3):
            await asyncio.shield(waiting)
    gate.made(Allowance())
    assert not waiting.done()
    gate.made(first)
    await waiting


async def test_who_goes_away_keeps_nobody_waiting() -> None:
    gate = a_gate()
    gate.failed(Allowance())
    impatient = asyncio.create_task(gate.turn(Allowance(rank=Rank.LEASES)))
    await asyncio.sleep(0.1)
    impatient.cancel()
    await gate.turn(Allowance())

    assert impatient.cancelled()
