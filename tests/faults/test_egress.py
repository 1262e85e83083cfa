"""Bad receivers of every kind, with the whole thirty seconds, on a worker that has other work to do."""

import time
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.database import Database
from tests.support.egress_trial import HOST, good_place, p95, reaching, seconds, try_out
from tests.support.hostile_town import hostile_town
from tests.support.island import can_be_made, island, worker_inside
from tests.support.receivers import CUT, HANGING, HANGING_IN_TLS, TOO_MUCH
from tests.support.webhook_jobs import Deliveries
from tests.support.worker import until, worker


def test_no_receiver_takes_more_than_its_deadline_much_memory_or_the_time_of_others(
    db: Database, tmp_path: Path
) -> None:
    """Real deliveries, on a worker with its ten slots."""
    figures = try_out(db, tmp_path, Deliveries(db).queue, of_each=2, good_jobs=150)
    print(figures)

    assert figures.longest_attempt < 32
    assert figures.grown_mib < 64
    assert figures.good_start_p95 < 3
    for name in (*HANGING, *HANGING_IN_TLS):
        assert figures.ends[name] == {"WEBHOOK_TIMEOUT"}
    for name in CUT:
        assert figures.ends[name] == {"SUCCEEDED"}
    for name in (*TOO_MUCH, "expired", "self-signed", "wrong name"):
        assert figures.ends[name] == {"WEBHOOK_FAILED"}
    db.check_history()


def test_a_backlog_for_one_that_hangs_beside_thirty_more_delays_nobody(db: Database, tmp_path: Path) -> None:
    authority, deliveries = Authority(tmp_path), Deliveries(db)
    with hostile_town(authority, HOST) as ports, good_place(authority.server(HOST)) as fine:
        good = f"https://{HOST}:{fine}/"
        hanging = [f"https://{HOST}:{ports['silent']}/{number}" for number in range(31)]
        deliveries.add(good, *hanging)
        deliveries.flood(hanging[0], 2000)
        for url in hanging[1:]:
            deliveries.queue(url)
        with worker(
            db.url, **reaching(authority, fine, *ports.values()), BPC_SHUTDOWN_GRACE_SECONDS=1
        ) as running:
            running.wait_ready()
            jobs = []
            for _ in range(60):
                jobs.append(deliveries.queue(good))
                time.sleep(0.2)
            until(lambda: all(db.job(job)["finished_at"] for job in jobs), within=30)
            assert running.stop(within=10) == 0  # though thirty are in the middle of it
    late = [seconds(db, job, "created_at", "started_at") for job in jobs]

    print(f"start p50 {sorted(late)[30]:.3f} s, p95 {p95(late):.3f} s")
    assert p95(late) < 3
    assert {deliveries.status(job) for job in jobs} == {"DELIVERED"}
    assert not db.run("SELECT FROM jobs WHERE status = 'RUNNING'")
    db.check_history(nothing_left=False)


def test_name_servers_that_never_answer_cost_no_other_delivery_its_time(db: Database, tmp_path: Path) -> None:
    if not can_be_made():
        pytest.skip("needs root and a network namespace of its own")
    public, silent = "93.184.216.34", [f"silent-{number}.test" for number in range(150)]
    names = {"good.test": [[public]], **{name: [] for name in silent}}
    authority = Authority(tmp_path)
    chain = authority.chain("good.test")

    with (
        island(chain=chain, addresses=[public], names=names, ports=[443]) as place,
        worker_inside(place, db, BPC_WEBHOOK_CA_FILE=authority.ca_file) as running,
    ):
        until(lambda: running.said("started"), within=20)
        deliveries, threads = Deliveries(db), 0
        deliveries.add(*(f"https://{name}/" for name in silent))
        jobs: list[str] = []
        fine: list[str] = []
        for name in silent:
            jobs.append(deliveries.queue(f"https://{name}/"))
            fine.append(deliveries.queue("https://good.test/"))
            until(lambda: db.job(fine[-1])["finished_at"], within=10)
            threads = max(threads, len(list(Path(f"/proc/{running.pid}/task").iterdir())))
        late = [seconds(db, job, "created_at", "started_at") for job in fine]
        until(lambda: all(db.job(job)["started_at"] for job in jobs), within=60)
        stopped = running.stop(within=30)  # lookups still hang

    print(f"start p95 {p95(late):.3f} s, at most {threads} threads")
    assert stopped == 0
    assert p95(late) < 3
    assert threads < 256
    assert {db.job(job)["status"] for job in fine} == {"SUCCEEDED"}
    ended = [db.job(job) for job in jobs if db.job(job)["finished_at"]]
    assert {job["fail_code"] for job in ended} == {"WEBHOOK_TIMEOUT"}
    assert max(seconds(db, str(job["job_id"]), "started_at", "finished_at") for job in ended) < 6
