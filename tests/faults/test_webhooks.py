"""Webhooks by the thousand: all of them verify, and a dead endpoint is outlived."""

from pathlib import Path

from tests.support.database import Database
from tests.support.dead_endpoint import outlive
from tests.support.webhook_trial import try_out


def test_a_thousand_deliveries_verify(db: Database, tmp_path: Path) -> None:
    figures = try_out(db, tmp_path, 1000)

    print(figures)
    assert figures["requests"] == 1000 + figures["refused once"]


def test_five_thousand_deliveries_to_a_dead_endpoint_harm_nothing_and_arrive_when_it_returns(
    db: Database, tmp_path: Path
) -> None:
    figures = outlive(db, tmp_path, 5000)

    print(figures)
    assert figures["slowest of the others, s"] < 10
    assert figures["snoozes while it was dead"] < 500  # they wait together, not one by one
