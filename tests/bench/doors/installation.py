"""A full installation with a real battery in it, and its doors, in a server that tells the plans it made."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support import full_size
from tests.support.database import Database
from tests.support.serving import Serving, serving
from tests.support.signed import signed_passport
from tests.support.town import Maker, add_maker
from tests.support.worker import worker

# Not in memory: rows are read where they would be.
_SERVER = databases.NO_FSYNC | {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "-1",
    "auto_explain.log_format": "json",
    "auto_explain.log_nested_statements": "on",
}
_NO_LIMITS = {
    "BPC_HTTP_REQUESTS_PER_SECOND": 1_000_000,
    "BPC_HTTP_REQUESTS_BURST": 1_000_000,
    "BPC_HTTP_TOKEN_REQUESTS_PER_SECOND": 1_000_000,
    "BPC_HTTP_TOKEN_REQUESTS_BURST": 1_000_000,
}


@dataclass(frozen=True)
class Installation:
    db: Database
    real: Maker  # a battery of the demo, among the generated ones

    @property
    def server(self) -> Server:
        return self.db.server


@contextmanager
def installation(size: full_size.Size) -> Iterator[Installation]:
    with databases.postgres(_SERVER) as server:
        databases.make_template(server)
        with signed_passport(server) as signed:
            with worker(signed.db.url_as("bpc_worker")):
                real = add_maker(signed.db, "ev")
            full_size.fill(signed.db, size, template=str(signed.version))
            yield Installation(signed.db, real)


@contextmanager
def opened(of: Installation, *doors: str, **settings: object) -> Iterator[Serving]:
    public = {"BPC_PUBLIC_DATABASE_URL": of.db.url_as("bpc_public")}
    with serving(of.db.url_as("bpc_web"), *doors, **(_NO_LIMITS | public | settings)) as running:
        yield running


@contextmanager
def telling_plans(of: Installation) -> Iterator[list[dict[str, object]]]:
    """The plans of all statements meanwhile, of sessions that begin within; filled at the end."""
    name = of.db.url.rpartition("/")[2]
    log, found = of.server.log_file, list[dict[str, object]]()
    of.db.run(f'ALTER DATABASE "{name}" SET auto_explain.log_min_duration = 0')
    before = log.stat().st_size
    try:
        yield found
    finally:
        of.db.run(f'ALTER DATABASE "{name}" RESET auto_explain.log_min_duration')
        with log.open("rb") as written:
            written.seek(before)
            found += plans(written.read().decode("utf-8", "replace"))


def plans(log: str) -> Iterator[dict[str, object]]:
    """As auto_explain writes them: lines with a tab, behind one that ends with `plan:`."""
    block: list[str] | None = None
    for line in [*log.splitlines(), "end"]:
        if block is not None and not line.startswith("\t"):
            plan = json.loads("\n".join(block))
            assert isinstance(plan, dict)
            yield plan
            block = None
        if line.endswith("plan:"):
            block = []
        elif block is not None:
            block.append(line.removeprefix("\t"))
