"""The doctor behind a real pgbouncer in transaction mode: `BPC_TEST_PGBOUNCER`, or an installed one."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.database import free_port, postgres
from tests.support.embedded import open_folder
from tests.support.patients import Patient, make_template, patient
from tests.support.worker import until

PGBOUNCER = os.environ.get("BPC_TEST_PGBOUNCER") or shutil.which("pgbouncer")
pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="no pgbouncer is installed here")


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with postgres(in_memory=True) as running:
        make_template(running)
        yield running


@pytest.fixture
def ill(clinic: Server, tmp_path: Path) -> Iterator[Patient]:
    with patient(clinic, tmp_path, {"BPC_ENV": "dev", "PYTHONPATH": ""}) as made:
        yield made


@contextmanager
def pooled(ill: Patient, *settings: str) -> Iterator[str]:
    """The URL of the database by way of a pooler."""
    port = free_port()
    with open_folder() as folder:
        folder.chmod(0o777)  # it gives up root's rights
        lines = (
            "[databases]",
            f"{ill.name} = host=127.0.0.1 port={urlsplit(ill.url).port} user={ill.login}",
            "[pgbouncer]",
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any",
            "pool_mode = transaction",
            f"logfile = {folder}/log",
            *settings,
        )
        (folder / "ini").write_text("\n".join(lines))
        account = ["-u", str(ill.server.account)] if ill.server.account else []
        with subprocess.Popen(
            [str(PGBOUNCER), *account, str(folder / "ini")], stderr=subprocess.DEVNULL
        ) as pooler:
            try:
                until(
                    lambda: (
                        "listening on" in (folder / "log").read_text() if (folder / "log").exists() else ""
                    ),
                    within=20,
                )
                yield f"postgresql://{ill.login}@127.0.0.1:{port}/{ill.name}"
            finally:
                pooler.terminate()


@pytest.mark.parametrize(
    ("settings", "code"),
    [((), 69), (("ignore_startup_parameters = options",), 1)],
    ids=["refuses", "swallows"],
)
def test_a_pooler_is_noticed_and_what_is_pasted_makes_it_work(
    ill: Patient, settings: tuple[str, ...], code: int
) -> None:
    with pooled(ill, *settings) as url:
        direct, ill.settings["BPC_DATABASE_URL"] = ill.url, url
        found = ill.examined()
        assert found.code == code
        finding = found.one("database.pooler")

        deaf = ill.examined_after(finding["fix"])
        assert deaf.names() == {"database.direct_url"}
        ill.settings["BPC_DATABASE_DIRECT_URL"] = direct
        assert ill.examined_after(finding["fix"]).findings == []


def test_without_notifications_no_direct_url_is_needed(ill: Patient) -> None:
    with pooled(ill) as url:
        ill.settings |= {"BPC_DATABASE_URL": url, "BPC_DB_PREPARED_STATEMENTS": "off"}
        finding = ill.examined().one("database.direct_url")

        assert ill.examined_after(finding["fix"]).findings == []
