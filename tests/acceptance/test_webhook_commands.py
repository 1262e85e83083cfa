"""The commands about webhooks as real processes: what they print, how they end, what they say next."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bpc_worker.core.webhook_signature import public_key_text, secret_from
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.webhook_receiver import happen, holds, ok, receiver, says, six_lines
from tests.support.worker import command, until, worker

Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]
NOWHERE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def run(db: Database) -> Run:
    """As the application's login, for tenant acme."""
    db.tenant("acme")
    url = db.url_as("bpc_app")

    def act(*arguments: object, **settings: object) -> Ended:
        done = command(url, "webhook", *map(str, arguments), **{"BPC_TENANT": "acme", **settings})
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return act


def out(done: Ended) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def objects(done: Ended) -> list[dict[str, object]]:
    return [json.loads(line) for line in out(done).splitlines()]


def test_from_the_first_test_message_to_a_replay(db: Database, run: Run, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, worker(db.url_as("bpc_worker"), **there.settings):
        [added] = objects(
            run(
                "add",
                there.url,
                "--event",
                "PASSPORT_SIGNED",
                "--max-attempts",
                1,
                "--json",
                **there.settings,
            )
        )
        secret = str(added["secret"])
        [listed] = objects(run("list", "--json"))
        assert (listed["url"], listed["status"]) == (there.url, "ACTIVE")
        assert listed["event_types"] == ["PASSPORT_SIGNED"]
        assert secret not in str(listed)

        tested = run("test", there.url, "--wait")
        assert "it is DELIVERED: the receiver answered 200" in tested.stderr
        [first] = there.received
        assert str(first.delivery_id) == out(tested)
        assert first.headers["x-bpc-event-type"] == "WEBHOOK_TEST"
        assert holds(first, secret)
        assert six_lines(secret, first.body, first.headers["x-bpc-signature"])

        there.answers = says(500)
        happen(Pipeline(db), {"n": 1})
        happen(Pipeline(db), {"n": 2}, event_type="KEY_ADDED")  # of which it is not told
        until(lambda: objects(run("deliveries", "--status", "FAILED", "--json")), within=20, what="FAILED")
        [failed] = objects(run("deliveries", "--status", "failed", "--newer", "1h", "--json"))
        assert (failed["event_type"], failed["http_status"]) == ("PASSPORT_SIGNED", 500)
        [shown] = objects(run("show", failed["webhook_delivery_id"], "--json"))
        assert json.loads(str(shown["body"]))["payload"]["n"] == 1
        assert "content-length" in dict(shown["response_headers"])  # type: ignore[call-overload]

        there.answers = ok
        again = out(run("replay", "--failed", "--newer", "1h"))
        until(lambda: str(there.received[-1].delivery_id) == again, within=20, what="the replay")
        assert there.received[-1].body == there.received[-2].body
        assert "DELIVERED" in out(run("show", again))
        assert out(run("deliveries")).count("\n") == 2


def test_a_new_secret_signs_beside_the_old_one_or_alone(db: Database, run: Run, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, worker(db.url_as("bpc_worker"), **there.settings):
        asked = ("--event", "PASSPORT_SIGNED", "--json")
        [added] = objects(run("add", there.url, *asked, **there.settings))
        beside = run("rotate", there.url, "--json")
        assert "let the receiver accept both until" in beside.stderr
        run("test", there.url, "--wait")
        alone = run("rotate", added["webhook_endpoint_id"], "--overlap", "0s", "--json")
        run("test", there.url, "--wait")

    old, middle, new = (str(each["secret"]) for each in [added, *objects(beside), *objects(alone)])
    first, second = there.received
    assert [holds(first, secret) for secret in (old, middle, new)] == [True, True, False]
    assert six_lines(old, first.body, first.headers["x-bpc-signature"])
    assert [holds(second, secret) for secret in (old, middle, new)] == [False, False, True]
    assert six_lines(new, second.body, second.headers["x-bpc-signature"])


def test_switched_off_and_on_again(run: Run, db: Database) -> None:
    url = "https://example.com/hook"
    added = run("add", url, "--event", "PASSPORT_SIGNED", "--json")
    endpoint_id = objects(added)[0]["webhook_endpoint_id"]

    assert "is DISABLED" in run("disable", url, "--reason", "moved").stderr
    assert "was already DISABLED" in run("disable", endpoint_id, "--reason", "moved").stderr
    refused = run("test", url)
    assert refused.returncode == 1
    assert f"switched off: moved; `bpc-worker webhook enable {endpoint_id}`" in refused.stderr
    happen(Pipeline(db), {})
    assert db.run("SELECT FROM webhook_deliveries") == []

    assert "is ACTIVE" in run("enable", url).stderr
    happen(Pipeline(db), {})
    assert len(db.run("SELECT FROM webhook_deliveries")) == 1
    told = db.one("SELECT payload FROM events WHERE event_type = 'WEBHOOK_ENDPOINT_DISABLED'")["payload"]
    assert told["reason"] == "moved"  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", "http://example.com:70000/"), 1, "WEBHOOK_BLOCKED"),
        (("add", "ftp://example.com/"), 1, "https:// is asked for"),
        (("add", "https://example.com/", "--event", "PASSPORT_SIGND"), 2, "there are DOCUMENT_VALIDATED"),
        (("add", "https://example.com/", "--secret", "hunter2"), 2, "a secret begins with whsec_"),
        (("test", "https://nobody.example/"), 3, "`bpc-worker webhook list` shows them"),
        (("rotate", NOWHERE), 3, "`bpc-worker webhook list` shows them"),
        (("disable", NOWHERE, "--reason", "x"), 3, "`bpc-worker webhook list` shows them"),
        (("enable", NOWHERE), 3, "`bpc-worker webhook list` shows them"),
        (("show", NOWHERE), 3, "`bpc-worker webhook deliveries` shows them"),
        (("show", "x"), 2, "`bpc-worker webhook deliveries` prints them"),
        (("replay", NOWHERE), 3, "`bpc-worker webhook deliveries` shows them"),
        (("replay",), 2, "say --failed with --newer or --endpoint"),
        (("replay", "--failed"), 2, "say --failed with --newer or --endpoint"),
        (("deliveries", "--newer", "soon"), 2, "write it like 90s"),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, tuple) else "",
)
def test_what_goes_wrong_is_said_with_what_to_do_next(
    run: Run, words: tuple[str, ...], code: int, said: str
) -> None:
    done = run(*words)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "hunter2" not in done.stderr


def test_nothing_there_yet_is_said(run: Run) -> None:
    assert "add one with `bpc-worker webhook add URL`" in run("list").stderr
    assert "no deliveries" in run("deliveries").stderr


def test_a_received_request_is_checked_without_a_database(db: Database, run: Run, tmp_path: Path) -> None:
    with receiver(tmp_path) as there, worker(db.url_as("bpc_worker"), **there.settings):
        [added] = objects(run("add", there.url, "--json", **there.settings))
        run("test", there.url, "--wait")
    [came] = there.received
    headers, as_json, body = tmp_path / "headers", tmp_path / "headers.json", tmp_path / "body"
    headers.write_text("POST /hook HTTP/1.1\n" + "".join(f"{k}: {v}\n" for k, v in came.headers.items()))
    as_json.write_text(json.dumps(dict(came.headers)))
    body.write_bytes(came.body)
    secret, key = str(added["secret"]), str(added["public_key"])

    def verify(*more: object, **settings: object) -> Ended:
        return command("postgresql://nobody@127.0.0.1:1/x", "webhook", "verify", *map(str, more), **settings)

    both = verify("--headers", headers, "--body", body, "--public-key", key, BPC_WEBHOOK_SECRET=secret)
    assert out(both) == "valid: X-BPC-Signature, webhook-signature v1, webhook-signature v1a"
    alone = verify("--headers", as_json, "--body", body, "--public-key", key, "--json")
    assert objects(alone) == [{"valid": True, "signatures": ["webhook-signature v1a"]}]
    other = secret[:-8] + "AAAAAAA="
    assert secret_from(other)
    for wrong in (
        verify("--headers", headers, "--body", headers, BPC_WEBHOOK_SECRET=secret),
        verify("--headers", headers, "--body", body, BPC_WEBHOOK_SECRET=other),
        verify("--headers", body, "--body", body, BPC_WEBHOOK_SECRET=secret),
        verify("--headers", headers, "--body", body, "--public-key", public_key_text(bytes(31) + b"\x01")),
    ):
        assert wrong.returncode == 1
        assert "not valid: " in wrong.stderr
        assert "check that the body is byte for byte what came" in wrong.stderr
    nothing = verify("--headers", headers, "--body", body)
    assert (nothing.returncode, "set BPC_WEBHOOK_SECRET" in nothing.stderr) == (2, True)
