"""What the settings accept as a URL the libraries can read, and what they cannot read nobody repeats."""

from contextlib import suppress
from urllib.parse import urlsplit

import psycopg
import pytest
from aio_pika.connection import make_url
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.config.kinds import url
from bpc_worker.config.load import load
from bpc_worker.doctor import database
from bpc_worker.jobs.errors import Unavailable
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.errors import read_url
from bpc_worker.postgres.migrate import migrate

POSTGRES, AMQP = url("postgresql", libpq=True), url("amqp")
# Without "#" and "?", which libpq takes for parts of a password that is not encoded, and rightly so.
PARTS = st.text("ab17%.:/@,[]=&", max_size=8)
UNREADABLE = (
    "postgresql://u:geheim%7@h/db",
    "postgresql://u:geheim%00@h/db",
    "postgresql://h/db?password=secret&geheim",
)


@given(login=PARTS, place=PARTS, rest=PARTS)
def test_an_accepted_url_can_be_read(login: str, place: str, rest: str) -> None:
    where = f"{login}@{place}/{rest}"
    with suppress(ValueError):
        accepted = str(POSTGRES.parse(f"postgresql://{where}"))
        read_url(accepted)
    with suppress(ValueError):
        accepted = str(AMQP.parse(f"amqp://{where}"))
        try:
            assert urlsplit(accepted).port == make_url(accepted).port
        except ValueError as error:
            raise AssertionError(accepted) from error


@pytest.mark.parametrize("given", UNREADABLE)
async def test_a_link_does_not_repeat_what_it_cannot_read(given: str) -> None:
    with pytest.raises(Unavailable, match=r"no database: .* in the database's URL") as caught:
        await Link(Dsn(url=given, application_name="test")).run(b"SELECT 1", timeout=1)

    assert "geheim" not in str(caught.value)
    assert caught.value.__cause__ is not None
    assert "geheim" not in str(caught.value.__cause__)
    assert caught.value.__cause__.__suppress_context__


@pytest.mark.parametrize("given", UNREADABLE)
def test_the_doctor_and_the_migrations_do_not_repeat_it_either(given: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="in the database's URL") as caught:
        database.connect(load(env={}), given)
    found = database.unreachable(load(env={}), given, caught.value)
    with pytest.raises(psycopg.OperationalError, match="in the database's URL"):
        migrate(given)

    assert found.check == "database.unreachable"
    assert "in the database's URL" in found.what
    assert "geheim" not in str(found)
