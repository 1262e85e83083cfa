"""A payload that did not come with its claim: read once more where it was refused, and then no more."""

from collections.abc import Mapping

import pytest

from bpc_worker.engine.large_payloads import read_payload
from bpc_worker.handler_api import Row
from bpc_worker.jobs.errors import Code, JobError, LeaseLost, Permanent, Retryable, Unavailable
from bpc_worker.jobs.model import Claim
from bpc_worker.testing import a_claim

REFUSED = Permanent(Code.VALIDATION_ERROR, "string buffer exceeds maximum allowed length (SQLSTATE 54000)")
SLOW = Retryable(Code.DB_UNAVAILABLE, "canceling statement due to statement timeout (SQLSTATE 57014)")
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")


class Answers:
    def __init__(self, *answers: JobError | list[Row]) -> None:
        self._answers = list(answers)

    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]:
        assert (name, params["lease_token"]) == ("jobs/read_payload", claim.lease_token)
        answer = self._answers.pop(0)
        if isinstance(answer, JobError):
            raise answer
        return answer


@pytest.mark.parametrize("first", [REFUSED, SLOW])
async def test_what_is_refused_once_is_read_again(first: JobError) -> None:
    assert await read_payload(a_claim(), Answers(first, [{"payload": "{}"}])) == "{}"


@pytest.mark.parametrize("error", [REFUSED, SLOW])
async def test_what_cannot_be_read_twice_cannot_be_read(error: JobError) -> None:
    with pytest.raises(Permanent, match="PAYLOAD_TOO_LARGE: the payload cannot be read"):
        await read_payload(a_claim(), Answers(error, error))


@pytest.mark.parametrize("answers", [[AWAY], [SLOW, AWAY]])
async def test_an_outage_says_nothing_about_the_payload(answers: list[JobError]) -> None:
    with pytest.raises(Unavailable):
        await read_payload(a_claim(), Answers(*answers))


async def test_one_past_every_rule_is_too_large() -> None:
    with pytest.raises(Permanent, match="more than 32 MiB"):
        await read_payload(a_claim(), Answers([{"payload": None}]))


async def test_a_lease_that_is_lost_has_no_payload() -> None:
    with pytest.raises(LeaseLost):
        await read_payload(a_claim(), Answers([]))
