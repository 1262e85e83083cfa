"""psql as a person would use it, logged in as a member of one of our roles."""

import subprocess

from tests.support.database import Database


def psql(db: Database, role: str, statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [db.server.bin_dir / "psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", "-c", statement, db.url_as(role)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def done(ran: subprocess.CompletedProcess[str]) -> str:
    """What it printed; fails with its complaint."""
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def refused(ran: subprocess.CompletedProcess[str]) -> str:
    """The complaint of a statement that must not go through."""
    assert ran.returncode != 0, f"it went through: {ran.stdout}"
    return ran.stderr
