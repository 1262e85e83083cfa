"""How long from the call that queues a job to the first line of its handler?"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.bench.bench import Bench, Program, module, peer, program
from tests.bench.bench_worker import bench_worker
from tests.bench.marks import Heard, marks
from tests.bench.results import Figure, Found, Goal, p50, p99
from tests.support.worker import until

JOBS, QUICK_JOBS = 1_000, 200
SLOW, QUICK_SLOW = 20, 4
BLOCK: Final = 50
WARM_UP: Final = 20
PAUSE: Final = (0.008, 0.020)  # seconds; longer than our publisher's pause between two triggers
ANY_TIME: Final = (0.0, 1.0)  # of the second between two polls
LONGEST: Final = 30.0
COUNTED: Final = (
    "Milliseconds from before the call that queues one job to the first line of its handler in the"
    " worker's process, by the system-wide monotonic clock; one job at a time, with a random pause of 8"
    " to 20 ms. All workers run all the while, each on a database of its own; they take turns by blocks"
    " of 50 jobs."
)


@dataclass(frozen=True)
class Racer:
    producer: Program
    heard: Heard
    samples: list[float] = field(default_factory=list)

    def run(self, count: int, pause: tuple[float, float] = PAUSE) -> None:
        for number in range(count):
            time.sleep(random.uniform(*pause))
            self.producer.tell(number)
            sent = self.producer.hear()
            heard, began_ns = self.heard.next(within=LONGEST)
            assert heard == sent["number"] == number
            self.samples.append((began_ns - sent["before_ns"]) / 1e6)


Start = Callable[[Bench], AbstractContextManager[Racer]]


def ours(*, amqp: bool = False, notify: bool = False) -> Start:
    @contextmanager
    def start(bench: Bench) -> Iterator[Racer]:
        broker = bench.broker_url if amqp else None
        settings = {"BPC_NOTIFY_ENABLED": notify, "BPC_LOG_LEVEL": "info"}
        settings |= {} if broker is None else {"BPC_QUEUE_URL": broker}
        with (
            bench.database() as db,
            marks() as heard,
            bench_worker(db.url_as("bpc_worker"), **settings) as running,
        ):
            running.wait_ready()
            if amqp:
                until(lambda: running.metric("bpc_broker_connected") == 1, within=30, what="listening")
            more = {"tenant": db.tenant(), "pipe": str(heard.path), "broker": broker}
            with program(module("ours"), do="produce", url=db.url, **more) as producer:
                producer.hear()
                yield Racer(producer, heard)

    return start


def bare(*, amqp: bool) -> Start:
    @contextmanager
    def start(bench: Bench) -> Iterator[Racer]:
        broker, words = bench.broker_url if amqp else None, module("bare_wake")
        with (
            bench.database() as db,
            marks() as heard,
            program(words, do="work", url=db.url, broker=broker, marks=str(heard.path)) as working,
            program(words, do="produce", url=db.url, broker=broker, tenant=db.tenant()) as producer,
        ):
            working.hear()
            producer.hear()
            yield Racer(producer, heard)

    return start


def of_peer(name: str, producing: dict[str, object], **working: object) -> Start:
    @contextmanager
    def start(bench: Bench) -> Iterator[Racer]:
        with (
            bench.database(name) as db,
            marks() as heard,
            program(peer(name), do="work", url=db.url, marks=str(heard.path), **working) as running,
            program(peer(name), do="produce", url=db.url, **producing) as producer,
        ):
            running.hear()
            producer.hear()
            yield Racer(producer, heard)

    return start


OURS_NOTIFY, OURS_AMQP, OURS_POLL = "ours, NOTIFY", "ours, AMQP", "ours, poll only"
# Seconds each, so few of them: a poll, and a peer whose listener holds the lock of its only connection.
FEW: Final[dict[str, Start]] = {
    OURS_POLL: ours(),
    "pgqueuer psycopg": of_peer("pgqueuer", {"kind": "psycopg"}, kind="psycopg", batch=10),
}
PEERS: Final[dict[str, Start]] = {
    "pgqueuer asyncpg": of_peer("pgqueuer", {"kind": "asyncpg"}, kind="asyncpg", batch=10),
    "procrastinate": of_peer("procrastinate", {}, concurrency=10, connections=4),
}
RACERS: Final[dict[str, Start]] = {
    OURS_NOTIFY: ours(notify=True),
    OURS_AMQP: ours(amqp=True),
    **PEERS,
    "bare INSERT + NOTIFY": bare(amqp=False),
    "bare INSERT + AMQP": bare(amqp=True),
}


def measure(bench: Bench) -> Found:
    samples = race(bench)
    halves = {name: figure(f"{name}, p50", some, p50, bench.rounds) for name, some in samples.items()}
    tails = {name: figure(f"{name}, p99", some, p99, 1) for name, some in samples.items()}
    figures = [each for name in samples for each in (halves[name], tails[name])]
    for name, start in FEW.items():
        with start(bench) as racer:
            racer.run(bench.much(SLOW, QUICK_SLOW), ANY_TIME)
            figures.append(figure(f"{name}, p50", racer.samples, p50, 1))
            bench.log(f"wake: {figures[-1].name}: {figures[-1].median:.0f} ms")
    return Found(title="waking up", counted=COUNTED, figures=figures, goals=goals(halves, tails))


def race(bench: Bench) -> dict[str, list[float]]:
    count = bench.much(JOBS, QUICK_JOBS)
    with ExitStack() as started:
        racers = {name: started.enter_context(start(bench)) for name, start in RACERS.items()}
        for racer in racers.values():
            racer.run(WARM_UP)
            racer.samples.clear()
        for done in range(0, count, BLOCK):
            for racer in racers.values():
                racer.run(min(BLOCK, count - done))
        for name, racer in racers.items():
            bench.log(f"wake: {name}: p50 {p50(racer.samples):.2f} p99 {p99(racer.samples):.2f} ms")
        return {name: racer.samples for name, racer in racers.items()}


def figure(name: str, samples: list[float], of: Callable[[list[float]], float], rounds: int) -> Figure:
    """One value for each of `rounds` equal parts of the run."""
    size = max(1, len(samples) // rounds)
    values = tuple(of(samples[at * size : (at + 1) * size]) for at in range(rounds))
    return Figure(name=name, unit="ms", values=values, settings=f"n = {len(samples)}")


def goals(halves: dict[str, Figure], tails: dict[str, Figure]) -> list[Goal]:
    best = min(PEERS, key=lambda name: halves[name].median)
    return [
        Goal(name=f"{name}, {what} : {best}", value=found[name].over(found[best]), at_most=limit)
        for name, what, found, limit in (
            (OURS_NOTIFY, "p50", halves, 1.0),
            (OURS_AMQP, "p50", halves, 1.2),
            (OURS_NOTIFY, "p99", tails, 1.5),
            (OURS_AMQP, "p99", tails, 1.5),
        )
    ]
