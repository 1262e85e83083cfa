"""In production nothing goes over a network in plain text, unless somebody says why."""

import base64
from pathlib import Path

import pytest

from bpc_worker.config.load import load
from tests.support.configuration import problem, problems

LOCAL = "postgresql:///d"
PROD = {"BPC_ENV": "prod", "BPC_DATABASE_URL": LOCAL}
SEED = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PGSSLMODE", "PGHOST", "PGHOSTADDR", "PGGSSENCMODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@db.example/d", "postgresql://u@10.1.2.3/d", "postgresql://u@db.example/d?sslmode=prefer",
        "postgresql://u@db.example/d?sslmode=disable", "postgresql://u@db.example/d?sslmode=allow",
        "postgresql://u@127.0.0.1,db.example/d", "postgresql://u@localhost/d?hostaddr=10.1.2.3",
        "postgresql://u@[2001:db8::1]/d", "postgresql:///d?host=db.example", "postgresql://u@127.0.0.1.evil.example/d",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["DATABASE_URL", "DATABASE_DIRECT_URL", "MIGRATE_DATABASE_URL"])
def test_a_database_beyond_this_machine_is_asked_for_tls(name: str, url: str) -> None:
    text = problem(PROD | {f"BPC_{name}": url})

    assert f"env:BPC_{name}" in text
    assert "sslmode=verify-full" in text
    assert "database.allow_plain (BPC_DB_ALLOW_PLAIN)" in text
    assert load(env={f"BPC_{name}": url, "BPC_DATABASE_URL": LOCAL} | {f"BPC_{name}": url}).env == "dev"


@pytest.mark.parametrize(
    "url",
    [
        LOCAL, "postgresql://u@%2Frun%2Fpostgresql/d", "postgresql://u@127.0.0.1:5432/d", "postgresql://u@[::1]/d",
        "postgresql://u@localhost,127.1.2.3/d", "postgresql://u@/d?host=/run/postgresql",
        "postgresql://u@db.example/d?sslmode=require", "postgresql://u@db.example/d?sslmode=verify-ca",
        "postgresql://u@a.example,b.example/d?sslmode=verify-full", "postgresql://u@db.example/d?gssencmode=require",
        "postgresql://u@db.example/d?hostaddr=127.0.0.1",
    ],
)  # fmt: skip
def test_what_stays_on_this_machine_or_is_encrypted_is_well(url: str) -> None:
    assert load(env=PROD | {"BPC_DATABASE_URL": url}).database.allow_plain is None


def test_the_parts_of_a_url_are_looked_at_too() -> None:
    parts = {"BPC_ENV": "prod", "BPC_DB_HOST": "db.example", "BPC_DB_USER": "u", "BPC_DB_NAME": "d"}

    assert "BPC_DB_SSLMODE" in problem(parts)
    assert load(env=parts | {"BPC_DB_SSLMODE": "verify-full"}).env == "prod"


def test_what_libpq_is_told_elsewhere_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    assert "plain TCP" in problem(PROD)
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    assert load(env=PROD).env == "prod"


@pytest.mark.parametrize("host", ["mq.example", "10.0.0.5", "[2001:db8::5]"])
def test_a_broker_and_a_collector_beyond_this_machine_are_asked_for_tls(host: str) -> None:
    broker = problem(PROD | {"BPC_QUEUE_URL": f"amqp://u:p@{host}/"})
    tracing = {"BPC_TRACING_ENABLED": "on", "BPC_TRACING_ENDPOINT": f"http://{host}:4318"}

    assert "amqps://" in broker
    assert "queue.allow_plain (BPC_QUEUE_ALLOW_PLAIN)" in broker
    assert "tracing.allow_plain (BPC_TRACING_ALLOW_PLAIN)" in problem(PROD | tracing)
    assert load(env=PROD | {"BPC_QUEUE_URL": f"amqps://u:p@{host}/"}).queue.enabled
    assert load(env=PROD | {"BPC_QUEUE_URL": f"amqp://u:p@{host}/", "BPC_QUEUE_ENABLED": "off"}).env == "prod"
    assert load(env=PROD | {"BPC_QUEUE_URL": "amqp://u:p@127.0.0.1/"}).queue.enabled


def test_whoever_has_a_reason_is_let_through() -> None:
    env = {
        "BPC_DATABASE_URL": "postgresql://u@db.example/d", "BPC_DB_ALLOW_PLAIN": "the mesh encrypts",
        "BPC_QUEUE_URL": "amqp://u@mq.example/", "BPC_QUEUE_ALLOW_PLAIN": "the mesh encrypts",
        "BPC_TRACING_ENABLED": "on", "BPC_TRACING_ENDPOINT": "http://otel.example",
        "BPC_TRACING_ALLOW_PLAIN": "the mesh encrypts",
    }  # fmt: skip
    settings = load(env=PROD | env)

    assert settings.database.allow_plain == settings.queue.allow_plain == "the mesh encrypts"
    assert len(problems(PROD | {name: each for name, each in env.items() if "ALLOW" not in name})) == 3


KEYS = {
    "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": SEED,
    "BPC_SIGNING_FORMER_KEYS": f'{{"2026": "{SEED}"}}',
    "BPC_DISCLOSURE_KEY": SEED,
    "BPC_WEBHOOK_SEALING_KEYS": f"2027:{SEED}",
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_in_the_environment_of_production_earns_a_hint(name: str, tmp_path: Path) -> None:
    more = {"BPC_SIGNING_KEY_ID": "k"} if "PRIVATE" in name else {}
    file = tmp_path / "key"
    file.write_text(KEYS[name])
    file.chmod(0o600)

    [hint] = load(env=PROD | more | {name: KEYS[name]}).hints
    assert f"{name}_FILE" in hint
    assert SEED not in hint
    assert load(env=PROD | more | {f"{name}_FILE": str(file)}).hints == ()
    assert load(env=more | {name: KEYS[name]}).hints == ()


def test_a_secret_in_a_file_that_everybody_may_read_earns_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(LOCAL)
    env = {"BPC_ENV": "prod", "BPC_DATABASE_URL_FILE": str(file)}
    file.chmod(0o644)
    [hint] = load(env=env).hints
    file.chmod(0o640)

    assert f"chmod o= {file}" in hint
    assert load(env=env).hints == ()
