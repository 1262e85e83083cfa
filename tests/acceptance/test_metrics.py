"""/v1/metrics of a real worker that has made a passport."""

import pytest

from tests.support.database import Database
from tests.support.metric_rules import broken_rules
from tests.support.pipeline import pipeline
from tests.support.promtool import objections
from tests.support.worker import worker

pytestmark = pytest.mark.acceptance


def test_a_passport_is_measured_and_the_metrics_follow_the_rules(db: Database) -> None:
    path = pipeline(db)
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        build = path.build()
        assert path.ended(build).state == "DONE"
        written = running.get("/v1/metrics", timeout=5)[1]
        version = path.version(build)

        assert running.metric("bpc_compiles_total", result="ok") == 1
        assert running.metric("bpc_compile_duration_seconds_count") == 1
        assert 0 < running.metric("bpc_compile_duration_seconds_sum") < 60
        for name in ("payload", "proof", "receipt"):
            stored = version[name]
            assert isinstance(stored, bytes)
            assert running.metric(f"bpc_{name}_bytes_sum") == len(stored)
        assert running.metric("bpc_db_pool_in_use") == 0
        assert running.metric("bpc_jobs_failed_total") == 0

    assert broken_rules(written) == []
    assert objections(written) == ""
