"""The doctor behind a real pgbouncer in transaction mode."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.database import postgres
from tests.support.patients import Patient, make_template, patient
from tests.support.pgbouncer import pooler

pytestmark = pytest.mark.direct  # with a pooler of its own


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with postgres(in_memory=True) as running:
        make_template(running)
        yield running


@pytest.fixture
def ill(clinic: Server, tmp_path: Path) -> Iterator[Patient]:
    with patient(clinic, tmp_path, {"BPC_ENV": "dev", "PYTHONPATH": ""}) as made:
        yield made


@pytest.mark.parametrize(
    ("settings", "code"),
    [((), 69), (("ignore_startup_parameters = options",), 1)],
    ids=["refuses", "swallows"],
)
def test_a_pooler_is_noticed_and_what_is_pasted_makes_it_work(
    ill: Patient, settings: tuple[str, ...], code: int
) -> None:
    with pooler(ill.server.port, *settings) as bouncer:
        direct, ill.settings["BPC_DATABASE_URL"] = ill.url, bouncer.url(ill.url)
        found = ill.examined()
        assert found.code == code
        finding = found.one("database.pooler")

        deaf = ill.examined_after(finding["fix"])
        assert deaf.names() == {"database.direct_url"}
        ill.settings["BPC_DATABASE_DIRECT_URL"] = direct
        assert ill.examined_after(finding["fix"]).findings == []


def test_without_notifications_no_direct_url_is_needed(ill: Patient) -> None:
    with pooler(ill.server.port) as bouncer:
        ill.settings |= {"BPC_DATABASE_URL": bouncer.url(ill.url), "BPC_DB_PREPARED_STATEMENTS": "off"}
        finding = ill.examined().one("database.direct_url")

        assert ill.examined_after(finding["fix"]).findings == []
