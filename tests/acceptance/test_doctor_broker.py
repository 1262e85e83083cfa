"""The doctor and a real RabbitMQ: what keeps a worker from hearing is named, and what is pasted mends it."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aio_pika
import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.database import free_port, postgres
from tests.support.patients import Patient, make_template, patient
from tests.support.rabbitmq import RabbitNode
from tests.support.worker import until, worker


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with postgres(in_memory=True) as running:
        make_template(running)
        yield running


@pytest.fixture
def ill(clinic: Server, tmp_path: Path, rabbit: RabbitNode) -> Iterator[Patient]:
    settings = {"BPC_ENV": "dev", "BPC_QUEUE_URL": rabbit.url, "PYTHONPATH": ""}
    with patient(clinic, tmp_path, settings) as made:
        yield made


def declare(rabbit: RabbitNode, name: str, kind: aio_pika.ExchangeType) -> str:
    async def declared() -> None:
        async with await aio_pika.connect(rabbit.url) as connection:
            channel = await connection.channel()
            await channel.declare_exchange(name, kind, durable=True)

    asyncio.run(declared())
    return name


def paste(rabbit: RabbitNode, fix: str) -> None:
    """What a shell would give to rabbitmqctl goes to the one of this node."""
    words = subprocess.run(
        ["bash", "-c", f'rabbitmqctl() {{ printf "%s\\n" "$@"; }}; {fix.splitlines()[-1]}'],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    rabbit.ctl(*words)


@pytest.fixture
def stranger(rabbit: RabbitNode) -> Iterator[str]:
    """The URL of a user who may log in, and nothing else."""
    rabbit.ctl("add_user", "stranger", "secret")
    rabbit.ctl("set_permissions", "-p", "/", "stranger", "^$", "^$", ".*")
    yield rabbit.url.replace("guest:guest", "stranger:secret")
    rabbit.ctl("delete_user", "stranger")


def test_a_broker_that_serves_is_well_and_nothing_is_left_behind(ill: Patient, rabbit: RabbitNode) -> None:
    ill.settings["BPC_QUEUE_EXCHANGE"] = declare(rabbit, "bpc.well", aio_pika.ExchangeType.TOPIC)
    before = rabbit.list_queues()

    found = ill.examined()
    assert (found.code, found.findings) == (0, [])
    assert rabbit.list_queues() == before


def test_a_user_who_may_not_listen(ill: Patient, rabbit: RabbitNode, stranger: str) -> None:
    ill.settings["BPC_QUEUE_EXCHANGE"] = declare(rabbit, "bpc.guarded", aio_pika.ExchangeType.TOPIC)
    ill.settings["BPC_QUEUE_URL"] = stranger

    found = ill.examined()
    finding = found.one("broker.permissions")
    assert (found.code, finding["level"]) == (1, "wrong")
    assert "stranger may not declare the exchange" in finding["what"]
    paste(rabbit, finding["fix"])

    assert ill.examined().findings == []
    assert "secret" not in found.text


def test_a_user_whom_the_broker_does_not_know(ill: Patient, rabbit: RabbitNode) -> None:
    ill.settings["BPC_QUEUE_URL"] = rabbit.url.replace("guest:guest", "nobody:secret")

    found = ill.examined()
    assert found.code == 1
    assert "the broker refuses nobody" in found.one("broker.login")["what"]
    assert "secret" not in found.text


def test_a_broker_that_is_not_there(ill: Patient) -> None:
    ill.settings["BPC_QUEUE_URL"] = f"amqp://guest:secret@127.0.0.1:{free_port()}/"

    found = ill.examined()
    assert found.code == 1
    assert "no broker at 127.0.0.1:" in found.one("broker.unreachable")["what"]
    assert "secret" not in found.text


def test_an_exchange_that_is_not_there_yet_is_made_by_a_worker(ill: Patient) -> None:
    """What is said to be done is done: a worker is started."""
    ill.settings["BPC_QUEUE_EXCHANGE"] = "bpc.not_yet"
    found = ill.examined()
    assert (found.code, found.one("broker.no_exchange")["level"]) == (0, "note")

    with worker(ill.url, **ill.settings) as running:
        until(lambda: running.said("broker_connected"), within=20)
        assert running.stop() == 0

    assert ill.examined().findings == []


def test_an_exchange_of_another_type_serves_and_is_told(ill: Patient, rabbit: RabbitNode) -> None:
    ill.settings["BPC_QUEUE_EXCHANGE"] = declare(rabbit, "bpc.fanout", aio_pika.ExchangeType.FANOUT)

    found = ill.examined()
    assert (found.code, found.one("broker.exchange_type")["level"]) == (0, "note")
    assert "fanout" in found.one("broker.exchange_type")["what"]
