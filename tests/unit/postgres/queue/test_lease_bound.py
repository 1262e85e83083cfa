"""From where on the reaper looks: from what was empty, a lease to spare; at all of it now and then."""

from datetime import timedelta

from bpc_worker.postgres.queue.lease_bound import LeaseBound
from bpc_worker.testing import NOON

LEASE = timedelta(seconds=60)


def after(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def test_a_look_begins_a_lease_before_what_was_seen_to_its_end() -> None:
    bound = LeaseBound(60)
    assert bound.since(NOON) == NOON - LEASE
    assert bound.since(NOON + after(15)) == NOON - LEASE  # a full page: there may be more

    bound.saw_the_end(NOON + after(15))
    assert bound.since(NOON + after(30)) == NOON + after(15) - LEASE


def test_all_of_it_is_looked_at_for_a_hundredth_of_the_time_and_every_two_minutes_at_least() -> None:
    bound = LeaseBound(60)
    assert bound.all_is_due(NOON)

    bound.looked_at_all(NOON, seconds=0.5)
    assert not bound.all_is_due(NOON + after(49))
    assert bound.all_is_due(NOON + after(50))

    bound.looked_at_all(NOON, seconds=5)
    assert not bound.all_is_due(NOON + after(119))
    assert bound.all_is_due(NOON + after(120))


def test_where_the_clock_was_set_back_nothing_is_remembered() -> None:
    """As after a failover to a machine that is slow."""
    bound = LeaseBound(60)
    bound.since(NOON)
    bound.saw_the_end(NOON)
    bound.looked_at_all(NOON, seconds=1)

    assert bound.since(NOON - after(3600)) == NOON - after(3600) - LEASE
    assert bound.all_is_due(NOON - after(3600))
