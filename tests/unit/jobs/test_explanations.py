"""Every error code can be explained to whoever finds it on a job."""

import json

import pytest
from click.testing import CliRunner

from bpc_worker.cli import main
from bpc_worker.jobs.errors import Code
from bpc_worker.jobs.explanations import EXPLANATIONS

RETRYABLE = {
    "EVENT_VERSION_CONFLICT", "WEBHOOK_FAILED", "WEBHOOK_TIMEOUT", "COMMAND_FAILED", "COMMAND_TIMEOUT",
    "RATE_LIMITED", "LEASE_EXPIRED", "QUEUE_UNAVAILABLE", "DB_UNAVAILABLE", "HANDLER_TIMEOUT", "CHILD_DIED",
    "INTERNAL_ERROR",
}  # fmt: skip


def test_every_code_has_a_meaning_causes_and_something_to_do() -> None:
    assert set(EXPLANATIONS) == set(Code)
    for code, each in EXPLANATIONS.items():
        assert each.meaning.endswith("."), code
        assert all(each.causes), code
        assert all(each.actions), code
        assert each.causes, code
        assert each.actions, code


def test_those_that_are_tried_again_are_those_of_the_contract() -> None:
    assert {code for code, each in EXPLANATIONS.items() if each.retryable} == RETRYABLE


@pytest.mark.parametrize("given", ["LEASE_EXPIRED", "lease_expired", " lease_expired "])
def test_one_is_explained(given: str) -> None:
    ran = CliRunner().invoke(main, ["explain", given])

    assert ran.exit_code == 0
    assert ran.output.startswith("LEASE_EXPIRED (tried again with backoff")
    assert "usual causes:\n  - " in ran.output
    assert "what to do:\n  - " in ran.output


def test_all_are_listed_and_as_json() -> None:
    lines = CliRunner().invoke(main, ["explain"]).output.splitlines()
    objects = [
        json.loads(line) for line in CliRunner().invoke(main, ["explain", "--json"]).output.splitlines()
    ]

    assert [line.split()[0] for line in lines] == list(Code)
    assert [each["code"] for each in objects] == list(Code)


@pytest.mark.parametrize(
    ("given", "hint"), [("LEASE_EXPIRE", "did you mean LEASE_EXPIRED?"), ("ZZZ", "ask its author")]
)
def test_an_unknown_code_says_what_to_do_next(given: str, hint: str) -> None:
    ran = CliRunner().invoke(main, ["explain", given])

    assert ran.exit_code == 3
    assert hint in ran.stderr
    assert "`bpc-worker explain` lists all codes" in ran.stderr
