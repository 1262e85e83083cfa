"""A build whose worker is killed at one moment of one of its transactions, and another that goes on."""

from uuid import UUID

from bpc_worker.postgres.sql_files import query
from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.outages import lease, through
from tests.support.picture import picture
from tests.support.pipeline import Pipeline, pipeline
from tests.support.tcp_proxy import Kill, TcpProxy
from tests.support.worker import until, worker

MOMENTS = ("before", "in", "after")
# Three documents taken in and read, a snapshot, a place in a status list, a passport compiled, signed, drawn.
TRANSACTIONS = 11
_PLACE = 8

ONE_AT_A_TIME = {
    **lease(5, 2),
    "BPC_WORKER_CONCURRENCY": 1,
    "BPC_JOBS_POLL_INTERVAL_MS": 100,
    "BPC_JOBS_BACKOFF_BASE": 1,
}


def clean_run(db: Database) -> dict[str, list[str]]:
    """What a build leaves when nothing happens to it."""
    path = pipeline(db)
    build = path.build()
    with worker(db.url_as("bpc_worker"), **ONE_AT_A_TIME):
        assert path.ended(build).state == "DONE"
    return picture(db)


def killed_run(db: Database, moment: str, nth: int) -> dict[str, list[str]]:
    """What a build leaves whose worker was killed in its nth transaction; history and chains are checked."""
    path = pipeline(db)
    build = path.build()
    kill_worker(db, moment, nth, inside="status/allot" if nth == _PLACE else "jobs/settle")
    return go_on(db, path, build)


def kill_worker(
    db: Database, moment: str, nth: int, *, inside: str = "jobs/settle", **settings: object
) -> None:
    with TcpProxy("127.0.0.1", db.server.port) as proxy:
        proxy.pause()
        with worker(through(proxy, db.url_as("bpc_worker")), **ONE_AT_A_TIME, **settings) as victim:
            kill = Kill(
                pid=victim.pid,
                moment=moment,
                nth=nth,
                begins=b"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED",
                inside=query(inside).splitlines()[0],  # its parameters look different on the wire
            )
            proxy.kill_client(kill)
            proxy.resume()
            until(lambda: victim.exit_code is not None, within=60, what=f"{moment} {nth}")
            assert kill.struck, "".join(victim.raw[-5:])
            assert victim.exit_code == -9


def go_on(db: Database, path: Pipeline, build: UUID) -> dict[str, list[str]]:
    """Another worker does the rest, once the dead one's lease has ended."""
    with worker(db.url_as("bpc_worker"), **ONE_AT_A_TIME):
        state = path.ended(build)
    assert (state.state, state.errors) == ("DONE", None)
    db.check_history()
    assert check_chains(db) > 0
    return picture(db)
