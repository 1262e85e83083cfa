"""Whoever reaches the probe port cannot take the worker's descriptors, and with them its work."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.support.database import Database
from tests.support.worker import Worker, until

HALF_A_REQUEST = b"GET /livez HTTP/1.1\r\nHost: worker\r\nX-Slow:"


class Frugal(Worker):
    before = ("prlimit", "--nofile=256:256")


@contextmanager
def half_sent(port: int, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            each = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            each.sendall(HALF_A_REQUEST)
            made.append(each)
        yield made


def test_half_sent_requests_cost_neither_the_probe_nor_a_job(db: Database) -> None:
    running = Frugal(db.url_as("bpc_worker"))
    try:
        running.wait_ready()
        job_id = db.enqueue("TEST_SLEEP", '{"seconds": 2}')
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=10)
        with half_sent(running.port, 260):
            alive = [running.get("/livez", timeout=5)[0] for _ in range(5)]
            until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=20)
            later = db.enqueue("TEST_SLEEP", '{"seconds": 0}')
            until(lambda: db.job(later)["status"] == "SUCCEEDED", within=20)
    finally:
        running.end()

    assert alive == [200] * 5
    assert db.job(job_id)["attempts"] == 1
    assert not running.said("engine_bug")
