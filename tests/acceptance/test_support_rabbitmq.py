"""Is the broker of the test-suite a real one, and does nothing of it remain?"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import AsyncMock
from urllib.parse import urlsplit

import aio_pika
import pytest
from aio_pika.exceptions import AMQPConnectionError

from tests.support import rabbitmq
from tests.support.rabbitmq import BrokerUnavailable, RabbitNode

pytestmark = pytest.mark.broker

REPOSITORY = Path(__file__).parents[2]
START_AND_DIE = """
import os, signal
from tests.support.rabbitmq import get_node
print(get_node().folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def node() -> Iterator[RabbitNode]:
    running = rabbitmq.or_skip(rabbitmq.get_node)
    yield running
    running.close()


def processes_with_home(folder: Path) -> set[int]:
    """Whoever was started with this home, in whatever session it may be by now."""
    home = f"HOME={folder}".encode()
    found = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = environment.read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile, or another user's
        if home in variables:
            found.add(int(environment.parent.name))
    return found


def becomes_true(fact: Callable[[], bool], *, limit: float = 10) -> bool:
    deadline = time.monotonic() + limit
    while not fact() and time.monotonic() < deadline:
        time.sleep(0.05)
    return fact()


async def test_a_message_passes_through(node: RabbitNode) -> None:
    async with await aio_pika.connect(node.url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)
        await channel.default_exchange.publish(aio_pika.Message(b"look"), queue.name)
        message = await queue.get(timeout=10)

    assert message.body == b"look"


async def test_queues_and_exchanges_are_listed_and_taken_away(node: RabbitNode) -> None:
    async with await aio_pika.connect(node.url) as connection:
        channel = await connection.channel()
        exchange = await channel.declare_exchange("bpc", "topic", durable=True)
        queue = await channel.declare_queue("own", exclusive=True)
        await queue.bind(exchange, "jobs.trigger")
        await queue.consume(AsyncMock(), no_ack=True)

        assert node.list_queues() == [rabbitmq.Queue("own", messages=0, consumers=1)]

        await asyncio.to_thread(node.delete_queue, "own")
        await asyncio.to_thread(node.delete_exchange, "bpc")

        assert node.list_queues() == []
        assert "bpc" not in node.ctl("list_exchanges", "name")


async def test_a_killed_node_comes_back_under_its_address(node: RabbitNode) -> None:
    connection = await aio_pika.connect(node.url)
    before, url = node.pid, node.url
    node.kill()

    assert node.pid is None
    assert before not in processes_with_home(node.folder)
    with pytest.raises(AMQPConnectionError):
        await aio_pika.connect(url)

    node.start()

    assert node.pid not in {None, before}
    assert node.url == url
    await (await aio_pika.connect(url)).close()
    await connection.close()


async def test_an_alarm_blocks_a_publisher_until_it_is_over(node: RabbitNode) -> None:
    async with await aio_pika.connect(node.url) as connection:
        channel = await connection.channel(publisher_confirms=True)
        queue = await channel.declare_queue(exclusive=True)
        await asyncio.to_thread(node.memory_alarm, True)
        message = aio_pika.Message(b"late")
        publish = asyncio.create_task(channel.default_exchange.publish(message, queue.name))
        done, _ = await asyncio.wait({publish}, timeout=1)

        assert done == set()

        await asyncio.to_thread(node.memory_alarm, False)
        await asyncio.wait_for(publish, 10)

        assert (await queue.get(timeout=10)).body == b"late"


def test_closing_leaves_no_process_and_no_folder() -> None:
    node = rabbitmq.or_skip(rabbitmq.get_node)
    running = processes_with_home(node.folder)

    assert node.pid in running

    node.close()
    node.close()

    assert becomes_true(lambda: processes_with_home(node.folder) == set())
    assert not node.folder.exists()


def test_a_test_run_that_is_killed_leaves_no_process_and_no_folder(node: RabbitNode) -> None:
    """No exit handler runs after SIGKILL, so something outside the process has to notice."""
    done = subprocess.run(
        [sys.executable, "-c", START_AND_DIE], cwd=REPOSITORY, stdout=subprocess.PIPE, check=False
    )
    folder = Path(os.fsdecode(done.stdout.strip()))

    assert done.returncode == -signal.SIGKILL
    assert folder.parent == node.folder.parent
    assert becomes_true(lambda: processes_with_home(folder) == set())
    assert becomes_true(lambda: not folder.exists())


@pytest.mark.usefixtures("node")  # by then Erlang is installed
def test_a_node_that_cannot_start_says_what_its_log_says(tmp_path: Path) -> None:
    script = tmp_path / "rabbitmq-server"
    script.write_text("#!/bin/sh\necho the disk is made of cheese\n")
    script.chmod(0o755)
    node = RabbitNode(tmp_path)

    with pytest.raises(RuntimeError, match="made of cheese"):
        node.start()

    node.close()


def test_a_given_address_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPC_TEST_AMQP_URL", "amqp://somewhere/")
    broker = rabbitmq.get_broker()

    assert broker.url == "amqp://somewhere/"
    assert broker.node is None


FAKE_DOCKER = r"""#!/bin/sh
echo "$*" >> "$0.log"
case "$*" in
  version*) echo 29 ;;
  *" ps "*) [ -z "$WAS_UP" ] || echo rabbitmq ;;
  *" port "*) echo "127.0.0.1:$PORT" ;;
  *" config "*) echo '{"services": {"rabbitmq": {"environment": {"RABBITMQ_DEFAULT_PASS": "p"}}}}' ;;
esac
"""


@pytest.mark.parametrize("was_up", ["", "yes"])
def test_a_compose_service_is_stopped_only_if_it_was_started(
    node: RabbitNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, was_up: str
) -> None:
    port = str(urlsplit(node.url).port)
    docker = tmp_path / "docker"
    docker.write_text(FAKE_DOCKER)
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PORT", port)
    monkeypatch.setenv("WAS_UP", was_up)
    monkeypatch.delenv("BPC_TEST_AMQP_URL", raising=False)
    monkeypatch.setattr(rabbitmq, "find_scripts", lambda: None)
    broker = rabbitmq.get_broker()
    broker.close()
    log = (tmp_path / "docker.log").read_text()

    assert broker.url == f"amqp://guest:p@127.0.0.1:{port}/"
    assert (" up " in log, " rm " in log) == ((False, False) if was_up else (True, True))


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_no_broker_at_all_is_a_skip_and_on_ci_a_failure(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.delenv("BPC_TEST_AMQP_URL", raising=False)
    monkeypatch.setattr(rabbitmq, "find_scripts", lambda: None)
    monkeypatch.setattr(rabbitmq, "docker_answers", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(outcome, match="only root on Debian"):
        rabbitmq.or_skip(rabbitmq.get_broker)


def test_nothing_starts_under_a_policy_that_is_gone_afterwards(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    answers = []

    def install_badly() -> None:
        with rabbitmq.nothing_starts(policy):
            answers.append(subprocess.run([policy, "any", "start"], check=False).returncode)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_badly()

    assert answers == [101]
    assert not policy.exists()


def test_a_policy_left_by_a_killed_run_is_used_and_removed(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text(rabbitmq.POLICY)
    policy.chmod(0o755)
    with rabbitmq.nothing_starts(policy):
        assert policy.exists()

    assert not policy.exists()


@pytest.mark.parametrize(("answer", "is_installed"), [(101, True), (0, False)])
def test_a_policy_of_the_machine_is_obeyed_and_left_alone(
    tmp_path: Path, answer: int, *, is_installed: bool
) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text(f"#!/bin/sh\nexit {answer}\n")
    policy.chmod(0o755)
    installed = False
    try:
        with rabbitmq.nothing_starts(policy):
            installed = True
    except BrokerUnavailable:
        pass

    assert installed is is_installed
    assert policy.read_text() == f"#!/bin/sh\nexit {answer}\n"
