"""The try-boundary: a table of what a handler does and how that ends."""

import asyncio
from typing import TYPE_CHECKING, cast
from uuid import UUID

import pytest

from bpc_worker.core.spec_hash import spec_hash
from bpc_worker.engine.attempt import attempt, clean
from bpc_worker.handler_api import Context, HandlerSpec, Payload
from bpc_worker.jobs.errors import LeaseLost, Permanent, Retryable, Snooze, Unavailable
from bpc_worker.jobs.model import (
    Done,
    Failed,
    InfrastructureAway,
    Lost,
    Outcome,
    Retry,
    Snoozed,
    TenantId,
)
from bpc_worker.testing import a_claim

if TYPE_CHECKING:
    import msgspec


class Anything(Payload, frozen=True):
    number: int = 0


NO_CONTEXT = cast("Context", object())


async def outcome_of(
    raised: Exception | None = None, *, returned: object = None, **claimed: object
) -> Outcome:
    async def handle(_: Anything, __: Context) -> object:
        if raised is not None:
            raise raised
        return returned

    spec = HandlerSpec(job_type="TEST_NOOP", payload=Anything, handle=handle)
    return await attempt(cast("HandlerSpec[msgspec.Struct]", spec), a_claim(**claimed), NO_CONTEXT)


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (Retryable("WEBHOOK_FAILED", "503"), Retry, "WEBHOOK_FAILED"),
        (Permanent("NOT_FOUND", "no such"), Failed, "NOT_FOUND"),
        (Snooze(3, "RATE_LIMITED", "later"), Snoozed, "RATE_LIMITED"),
        (Unavailable("DB_UNAVAILABLE", "gone"), InfrastructureAway, "DB_UNAVAILABLE"),
        (TimeoutError(), Retry, "HANDLER_TIMEOUT"),
        (ZeroDivisionError("a bug"), Retry, "INTERNAL_ERROR"),
        (RecursionError("too deep"), Retry, "INTERNAL_ERROR"),
        (MemoryError(), Retry, "INTERNAL_ERROR"),
    ],
)
async def test_an_exception_becomes_one_outcome(raised: Exception, kind: type, code: str) -> None:
    outcome = await outcome_of(raised)

    assert isinstance(outcome, kind)
    assert cast("Retry", outcome).error.code == code


async def test_a_lost_lease_is_recorded_nowhere() -> None:
    assert await outcome_of(LeaseLost("gone")) == Lost()


async def test_cancellation_flies_through_the_boundary() -> None:
    with pytest.raises(asyncio.CancelledError):
        await outcome_of(cast("Exception", asyncio.CancelledError()))


async def test_a_result_is_stored_as_json_with_the_hash_of_what_was_asked() -> None:
    outcome = await outcome_of(returned={"a": 1}, payload='{"number": 7}')

    assert outcome == Done('{"a":1}', spec_hash("TEST_NOOP", {"number": 7}))


async def test_a_result_that_is_not_json_is_permanent() -> None:
    outcome = await outcome_of(returned=object())

    assert isinstance(outcome, Failed)


@pytest.mark.parametrize(
    "payload", ['{"unknown": 1}', '{"number": "x"}', "[]", "null", '{"number": 1.5}', "[" * 100_000]
)
async def test_a_bad_payload_is_a_permanent_validation_error(payload: str) -> None:
    outcome = await outcome_of(payload=payload)

    assert isinstance(outcome, Failed)
    assert outcome.error.code == "VALIDATION_ERROR"


async def test_messages_are_storable_bounded_and_without_passwords() -> None:
    hostile = "a\x00b\ud800 postgresql://u:hunter2@host/db " + "x" * 10_000
    outcome = await outcome_of(Retryable("COMMAND_FAILED", hostile))

    assert isinstance(outcome, Retry)
    stored = outcome.error.message
    assert "\x00" not in stored
    assert "hunter2" not in stored
    assert len(stored) <= 2000
    stored.encode()


def test_clean_keeps_ordinary_text() -> None:
    assert clean("Größe 3 µm, 電池") == "Größe 3 µm, 電池"


OURS = TenantId(UUID("0198c0de-0000-7000-8000-00000000000a"))


@pytest.mark.parametrize(
    "payload",
    [
        f'{{"tenant_id": "{OURS}", "number": 7}}',
        f'{{"number": 7, "tenant_id": "{str(OURS).upper()}"}}',
        '{"number": 7}',
    ],
)
async def test_a_payload_may_repeat_whose_job_it_is(payload: str) -> None:
    outcome = await outcome_of(returned={"ok": True}, payload=payload, tenant_id=OURS)

    assert isinstance(outcome, Done)


@pytest.mark.parametrize(
    "named",
    [
        '"0198c0de-0000-7000-8000-00000000000b"',
        '""',
        '"acme"',
        f'"{OURS} "',
        f'"{{{OURS}}}"',
    ],
)
async def test_another_tenants_name_in_a_payload_is_forbidden(named: str) -> None:
    outcome = await outcome_of(payload=f'{{"number": 7, "tenant_id": {named}}}', tenant_id=OURS)

    assert isinstance(outcome, Failed)
    assert outcome.error.code == "FORBIDDEN"
    assert "acme" not in outcome.error.message


@pytest.mark.parametrize("named", ["null", "7", "[]", "{}", "true"])
async def test_a_tenant_that_is_no_text_is_not_let_through(named: str) -> None:
    outcome = await outcome_of(payload=f'{{"tenant_id": {named}}}', tenant_id=OURS)

    assert isinstance(outcome, Failed)
    assert outcome.error.code == "VALIDATION_ERROR"


async def test_the_last_of_two_names_counts_as_it_does_for_every_decoder() -> None:
    stranger = "0198c0de-0000-7000-8000-00000000000b"
    outcome = await outcome_of(
        payload=f'{{"tenant_id": "{OURS}", "tenant_id": "{stranger}"}}', tenant_id=OURS
    )

    assert isinstance(outcome, Failed)
    assert outcome.error.code == "FORBIDDEN"


async def test_a_tenant_inside_a_value_is_none_of_the_payload() -> None:
    outcome = await outcome_of(payload='{"number": 7, "x": {"tenant_id": "b"}}', tenant_id=OURS)

    assert isinstance(outcome, Failed)
    assert outcome.error.code == "VALIDATION_ERROR"  # x is unknown, which is all that is wrong with it
