"""What pages that move by themselves cost, while jobs come in all the time."""

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import quote

from tests.bench.doors.installation import Installation
from tests.bench.procs import exact_seconds
from tests.support.serving import Serving

PAGES = 10
SECONDS = 20.0
_EVERY_SECONDS = 0.2
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_ADD = (
    "INSERT INTO jobs (tenant_id, type, payload, scheduled_at)"
    " SELECT tenant_id, 'TEST_LATER', '{}', now() + interval '1 day' FROM tenants LIMIT 1"
)


def live_cost(made: Installation, doors: Serving, secret: str, addresses: tuple[str, ...] = ("/",)) -> float:
    """Of a core: the process of the doors and its sessions in the database, with the pages less without."""
    without = _spent(made, doors)
    with ExitStack() as pages:
        for number in range(PAGES):
            pages.enter_context(_watching(doors, secret, addresses[number % len(addresses)]))
        _spent(made, doors, seconds=3.0)  # until all are drawn once
        return (_spent(made, doors) - without) / SECONDS


@contextmanager
def _watching(doors: Serving, secret: str, address: str) -> Iterator[None]:
    connection = http.client.HTTPConnection("127.0.0.1", doors.door_port("dashboard"), timeout=30)
    headers = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"}
    connection.request("GET", f"/live?at={quote(address, safe='')}", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    try:
        yield
    finally:
        connection.close()


def _spent(made: Installation, doors: Serving, seconds: float = SECONDS) -> float:
    """CPU while a job comes in every fifth of a second; the sessions that insert them are not counted."""
    with made.db.connect() as adding:
        sessions = [int(str(row["pid"])) for row in adding.execute(_BACKENDS).fetchall()]
        before = _used(doors, sessions)
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            adding.execute(_ADD)
            time.sleep(_EVERY_SECONDS)
        return _used(doors, sessions) - before


def _used(doors: Serving, sessions: list[int]) -> float:
    found = exact_seconds(doors.pid)
    for pid in sessions:
        try:
            found += exact_seconds(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
