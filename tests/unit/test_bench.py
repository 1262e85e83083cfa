"""The judgement of the benches: a bench that cannot find fault is worth nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bpc_worker.jobs.model import Claim
from bpc_worker.testing import a_claim
from tests.bench import report
from tests.bench.against import Row
from tests.bench.results import Figure, Found, Goal, p95, p99
from tests.bench.rows.churn import tenths
from tests.bench.rows.fairness import judged
from tests.bench.trace_job import Trace

NOON = datetime(2028, 8, 18, 12, tzinfo=UTC)


def figure(*values: float) -> Figure:
    return Figure(name="x", unit="jobs/s", values=values)


def claimed(priority: int, minute: int) -> Claim:
    return replace(a_claim(), priority=priority, scheduled_at=NOON + timedelta(minutes=minute))


def test_a_ratio_compares_rounds_and_not_medians() -> None:
    assert figure(10, 20, 90).over(figure(5, 40, 30)) == 2


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal(name="x", value=0.7, at_least=0.7), True),
        (Goal(name="x", value=0.69, at_least=0.7), False),
        (Goal(name="x", value=0, at_most=0), True),
        (Goal(name="x", value=1, at_most=0), False),
    ],
)
def test_a_goal_is_met_up_to_its_limit(goal: Goal, met: bool) -> None:  # noqa: FBT001 - a table
    assert goal.met is met


@pytest.mark.parametrize(
    ("name", "mine", "met"),
    [
        ("drain, 10 slots", 95, True),
        ("drain, 10 slots", 94, False),
        ("wake, AMQP, p50", 120, True),
        ("wake, AMQP, p50", 121, False),
        ("wake, AMQP, p99", 900, True),
    ],
)
def test_a_tree_is_judged_by_the_medians_of_its_rounds(name: str, mine: float, met: bool) -> None:  # noqa: FBT001
    row = Row(name, (1, mine, 1000), (100, 50, 200))

    assert row.met is met
    assert ("**missed**" in row.cells()) is not met


def test_a_hop_is_a_change_of_file_within_one_thread() -> None:
    steps = [
        ("main", "a.py", "f"), ("other", "b.py", "g"), ("main", "a.py", "h"), ("main", "c.py", "i"),
        ("other", "b.py", "g"), ("main", "a.py", "f"),
    ]  # fmt: skip
    trace = Trace.of(steps)

    assert [(file, function) for _, file, function in trace.hops] == [
        ("a.py", "f"),
        ("b.py", "g"),
        ("c.py", "i"),
        ("a.py", "f"),
    ]
    assert trace.entered == {"a.py": 2, "b.py": 1, "c.py": 1}


def test_percentiles_stay_within_what_was_seen() -> None:
    samples = [float(number) for number in range(1, 101)]

    assert 95 <= p95(samples) <= 96
    assert 99 <= p99(samples) <= 100


def test_the_tenths_are_the_first_and_the_last() -> None:
    assert tenths([1.0] * 10 + [5.0] * 80 + [9.0] * 10) == (1.0, 9.0)


def test_jobs_in_their_order_are_no_inversions() -> None:
    looks = [[claimed(0, 1), claimed(0, 2)], [claimed(1, 0), claimed(2, 0)]]

    assert judged(looks) == (0, 0)


def test_a_job_taken_before_a_better_one_is_an_inversion() -> None:
    """The second claim has no turn; the first one's turn covers its first job only."""
    looks = [[claimed(3, 0), claimed(2, 0)], [claimed(1, 0), claimed(0, 0)], [claimed(0, 1)]]

    assert judged(looks) == (2, 1)


def test_the_table_of_the_last_run_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")

    report.write_docs(page, "new")

    assert page.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"


def test_a_page_without_the_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")

    with pytest.raises(SystemExit, match="marks"):
        report.write_docs(page, "new")
    assert page.read_text() == "nothing"


def test_a_missed_goal_can_be_seen() -> None:
    found = Found(
        title="t", counted="c", figures=[figure(1, 2, 3)], goals=[Goal(name="g", value=2, at_most=1)]
    )

    assert "**missed**" in report.markdown({"row": found}, {})
    assert "**missed**" in report.summary({"row": found})
