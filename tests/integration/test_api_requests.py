"""What the API remembers of a call: with what it did or not at all, for a day, and for its own tenant."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bpc_worker.jobs.errors import Permanent, RunAgain
from bpc_worker.pipeline.one_transaction import OneTransaction, in_one
from bpc_worker.pipeline.products import ProductData, add_product, find_product
from bpc_worker.pipeline.serials import make_serials
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.api.once import Call, Keeps
from bpc_worker.web.layer.answers import Data
from bpc_worker.web.layer.problems import Refused
from tests.support.database import Database
from tests.support.pipeline import Pipeline

PRODUCT = ProductData(identifier="p-1", name="Pack")


def acme(db: Database, tenant: str = "acme") -> Pipeline:
    db.tenant(tenant)
    return Pipeline(db, tenant)


def act(count: int) -> Callable[[OneTransaction], Awaitable[Data]]:
    async def work(one: OneTransaction) -> Data:
        await add_product(one, PRODUCT)
        made = await make_serials(one, PRODUCT.identifier, count)
        return Data([each.serial for each in made.passports], 201)

    return work


def called(
    path: Pipeline, key: str | None, digest: bytes, work: Callable[[OneTransaction], Awaitable[Data]],
    keeps: Keeps = Keeps.ANSWER,
) -> Any:  # fmt: skip
    return path.call(lambda session: Call(session, key, digest, keeps).carried_out(work))


def count(db: Database) -> object:
    return db.one("SELECT count(*) AS found FROM passports")["found"]


def test_the_same_call_is_answered_as_before_and_changes_nothing(db: Database) -> None:
    path = acme(db)
    first = called(path, "a", b"1" * 32, act(3))
    again = called(path, "a", b"1" * 32, act(3))

    assert (first.body, first.status) == (again.body, again.status)
    assert count(db) == 3
    assert called(path, "b", b"1" * 32, act(3)).body != first.body
    assert called(path, None, b"1" * 32, act(1)).status == 201
    assert count(db) == 7


def test_the_same_key_with_another_call_is_a_conflict(db: Database) -> None:
    path = acme(db)
    called(path, "a", b"1" * 32, act(1))

    with pytest.raises(Refused) as caught:
        called(path, "a", b"2" * 32, act(1))
    assert (caught.value.status, caught.value.code) == (409, "IDEMPOTENCY_CONFLICT")
    assert count(db) == 1


def test_a_call_that_fails_leaves_nothing_and_may_come_again(db: Database) -> None:
    path = acme(db)

    async def fails(one: OneTransaction) -> Data:
        await act(2)(one)
        async with one.reading() as tx:
            await find_product(one, tx, "nobody's")
        raise AssertionError

    with pytest.raises(Permanent):
        called(path, "a", b"1" * 32, fails)
    assert count(db) == 0
    assert db.run("SELECT FROM api_requests") == []
    assert called(path, "a", b"1" * 32, act(2)).status == 201
    assert count(db) == 2


def test_what_met_another_transaction_is_run_again_as_a_whole(db: Database) -> None:
    path = acme(db)
    tries = []

    async def meets(one: OneTransaction) -> Data:
        found = await act(2)(one)
        tries.append(found)
        if len(tries) == 1:
            async with one.transaction():
                raise RunAgain("40001", "another one")
        return found

    called(path, "a", b"1" * 32, meets)
    assert (len(tries), count(db)) == (2, 2)


def test_of_twins_one_waits_for_the_other_and_is_answered_as_it(db: Database) -> None:
    path = acme(db)
    url = db.url_as("bpc_app")

    async def both(session: PipelineSession) -> list[bytes]:
        from bpc_worker.pipeline.session import open_pipeline

        async with open_pipeline(session.settings, session.registry, url, "acme") as other:
            calls = (Call(each, "a", b"1" * 32).carried_out(act(5)) for each in (session, other))
            return [each.body for each in await asyncio.gather(*calls)]

    one, other = path.call(both)
    assert one == other
    assert count(db) == 5


def test_a_twin_of_a_call_that_takes_long_is_told_to_come_again(db: Database) -> None:
    path = acme(db)

    async def twins(session: PipelineSession) -> Refused:
        from bpc_worker.pipeline.session import open_pipeline

        async def slow(_: OneTransaction) -> Data:
            async with open_pipeline(
                session.settings, session.registry, db.url_as("bpc_app"), "acme"
            ) as other:
                with pytest.raises(Refused) as caught:
                    await Call(other, "a", b"1" * 32).carried_out(act(1))
            return Data(caught.value.headers["Retry-After"])

        answer = await Call(session, "a", b"1" * 32).carried_out(slow)
        assert answer.body == b'"2"'
        return Refused(409, "IDEMPOTENCY_CONFLICT", "")

    assert path.call(twins).status == 409


def test_an_answer_with_a_secret_is_not_kept_as_it_is(db: Database) -> None:
    path = acme(db)

    async def secret(_: OneTransaction) -> Data:
        return Data("whsec_verysecret")

    first = called(path, "a", b"1" * 32, secret, Keeps.SEALED)
    assert b"whsec" not in bytes(db.one("SELECT answer FROM api_requests")["answer"])  # type: ignore[call-overload]
    assert called(path, "a", b"1" * 32, secret, Keeps.SEALED).body == first.body == b'"whsec_verysecret"'


def test_another_tenant_and_another_login_have_keys_of_their_own(db: Database) -> None:
    mine, other = acme(db), acme(db, "other")
    assert called(mine, "a", b"1" * 32, act(1)).body != called(other, "a", b"1" * 32, act(1)).body

    async def seen(session: PipelineSession) -> int:
        async with session.reading() as tx:
            return len(await tx.execute("SELECT FROM api_requests"))

    assert mine.call(seen) == other.call(seen) == 1


def test_calls_are_forgotten_after_a_day(db: Database) -> None:
    path = acme(db)
    called(path, "old", b"1" * 32, act(1))
    db.run("UPDATE api_requests SET created_at = now() - interval '25 hours'")
    called(path, "new", b"1" * 32, act(1))

    async def forget(session: PipelineSession) -> object:
        async def work(one: OneTransaction) -> object:
            return (await one.tx.query("api/forget_requests", {"page": 100}))[0]["forgotten"]

        return await in_one(session, work)

    assert path.call(forget) == 1
    assert [row["idempotency_key"] for row in db.run("SELECT idempotency_key FROM api_requests")] == ["new"]
