"""The oracle itself can fail: each rule, broken once."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from tests.support.oracle import Change, left_behind, problems

BASE = {
    "status": "RUNNING", "attempts": 1, "max_attempts": 5, "lease_token": "t1", "lease_owner": "w",
    "lease_expires_at": "2026-11-16T12:01:00+00:00", "last_heartbeat_at": "2026-11-16T12:00:00+00:00",
}  # fmt: skip
WAITING = {"status": "QUEUED", "lease_owner": None, "lease_expires_at": None}


def change(old: Mapping[str, object], new: Mapping[str, object], seq: int = 1) -> Change:
    return Change(seq, datetime(2026, 11, 16, tzinfo=UTC), "job", "UPDATE", {**BASE, **old}, {**BASE, **new})


def renewed(until: str, *, at: str) -> dict[str, object]:
    day = "2026-11-16T"
    return {"lease_expires_at": f"{day}{until}+00:00", "last_heartbeat_at": f"{day}{at}+00:00"}


CLAIM = change({**WAITING, "attempts": 0, "lease_token": None}, {})
SUCCESS = change({}, {"status": "SUCCEEDED", "lease_owner": None, "lease_expires_at": None})


def test_a_clean_history_has_no_problems() -> None:
    renewal = change(
        {},
        {"lease_expires_at": "2026-11-16T12:01:30+00:00", "last_heartbeat_at": "2026-11-16T12:00:30+00:00"},
    )
    refund = change({}, {**WAITING, "attempts": 0})

    assert problems([CLAIM, renewal, SUCCESS]) == []
    assert problems([CLAIM, refund]) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (change({**WAITING, "attempts": 1}, {"attempts": 1, "lease_token": "t2"}), "a claim took attempts"),
        (change({**WAITING, "attempts": 0}, {}), "without a fresh token"),
        (change({**WAITING, "attempts": 5}, {"attempts": 6, "lease_token": "t2"}), "above max_attempts"),
        (change({}, {"lease_token": "t2"}), "changed its token"),
        (change({}, {"attempts": 2}), "changed its attempts"),
        (change({}, {"lease_expires_at": "2026-11-16T12:00:59+00:00"}), "moved the lease back"),
        (
            change({}, renewed("12:03:00", at="12:02:00")),
            "revived a lease",
        ),
        (change({}, {**WAITING, "attempts": 3}), "attempts went from"),
        (change({"status": "SUCCEEDED"}, WAITING), "illegal edge"),
        (change({}, {"status": "SUCCEEDED"}), "kept its lease"),
        (change({}, {**WAITING, "lease_token": "t9"}), "a settle changed the token"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named(broken: Change, said: str) -> None:
    assert any(said in problem for problem in problems([broken]))


def test_two_completions_under_one_token_are_named() -> None:
    assert any("second completion" in problem for problem in problems([CLAIM, SUCCESS, SUCCESS]))


def test_a_job_that_did_not_end_is_named() -> None:
    assert left_behind({"job": [CLAIM]}) == ["job job was left RUNNING"]
    assert left_behind({"job": [CLAIM, SUCCESS]}) == []
