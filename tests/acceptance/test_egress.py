"""A real worker in a network where everything that may not be called is there and listens."""

import subprocess
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.certificates import Authority
from tests.support.database import Database
from tests.support.island import Island, can_be_made, island, worker_inside
from tests.support.patients import secret_file
from tests.support.webhook_jobs import Deliveries
from tests.support.worker import until

KEYS = {"BPC_WEBHOOK_SEALING_KEYS": "2026:" + b64encode(bytes(range(32))).decode()}
PUBLIC, PUBLIC_6 = "93.184.216.34", "2606:2800:220:1::1"
FORBIDDEN = [
    "127.0.0.1", "::1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.1.1", "169.254.169.254",
    "168.63.129.16", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "fd00:ec2::254", "fec0::1",
    "::7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::1", "2001:0:7f00:1::1", "5f00::1",
]  # fmt: skip
NAMES = {f"forbidden-{number}.test": [[address]] for number, address in enumerate(FORBIDDEN)} | {
    "good.test": [[PUBLIC]],
    "good6.test": [[PUBLIC_6]],
    "good-both.test": [[PUBLIC, PUBLIC_6]],
    "mapped.test": [["::ffff:127.0.0.1"]],
    "multicast.test": [["224.0.0.1"]],
    "good-and-bad.test": [[PUBLIC, "127.0.0.1"]],
    "good-and-bad6.test": [[PUBLIC, "::1"]],
    "rebinding.test": [["10.0.0.1"], [PUBLIC]],
    "rebound.test": [[PUBLIC], ["127.0.0.1"]],
    "localhost": [["127.0.0.1"]],  # of files, and with a dot at the end of name servers
    "silent.test": [],
}
GOOD = ["good.test", "good6.test", "good-both.test", PUBLIC, f"[{PUBLIC_6}]", "1572395042", "rebound.test"]
SPELLINGS = [
    "2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.1", "127.1", "127.0.0.1.", "0",
    "localhost.", "①②⑦.⓪.⓪.①", "2852039166", "0xa9.0xfe.0xa9.0xfe", "[::ffff:127.0.0.1]", "[::ffff:a00:1]",
    "[::ffff:0:127.0.0.1]", "[fe80::1%25lo]", "[::]", "224.0.0.1", "255.255.255.255",
]  # fmt: skip
TRICKS = [
    "http://good.test/", "https://good.test:80/", "https://good.test:8080/", "https://user@good.test/",
    "https://good.test@127.0.0.1/", "https://good.test\\@127.0.0.1/", "https://127.0.0.1\\@good.test/",
    "file:///etc/passwd", "https:good.test",
    "https://[::1/", "https://[::g]/", "https://a\N{ACCOUNT OF}b.test/", "https://good.test:99999/", "https://xn--a/",
]  # fmt: skip


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def place(authority: Authority) -> Iterator[Island]:
    if not can_be_made():
        pytest.skip("needs root and a network namespace of its own")
    chain = authority.chain(PUBLIC, PUBLIC_6, *NAMES, *(each for each in FORBIDDEN))
    addresses = [PUBLIC, PUBLIC_6, *FORBIDDEN]
    with island(chain=chain, addresses=addresses, names=NAMES, ports=[443, 80, 8080, 3128]) as made:
        yield made


def _forbidden_urls() -> list[str]:
    literals = [f"[{each}]" if ":" in each else each for each in FORBIDDEN]
    hosts = [*literals, *SPELLINGS, *(name for name in NAMES if name not in {*GOOD, "silent.test"})]
    return [f"https://{host}/" for host in hosts] + TRICKS


def _can_be_reached(place: Island) -> None:
    """From inside, without a guard: a test that nobody can fail shows nothing."""
    knock = "import socket, sys\nfor host in sys.argv[1:]: socket.create_connection((host, 443), 5).close()"
    subprocess.run([*place.inside, sys.executable, "-c", knock, *FORBIDDEN], check=True)
    until(lambda: sum(place.accepted.values()) == len(FORBIDDEN), within=5, what="all of them came")


def test_a_worker_calls_what_is_public_and_nothing_else(
    db: Database, place: Island, authority: Authority
) -> None:
    _can_be_reached(place)
    before = place.accepted
    deliveries = Deliveries(db, **KEYS)
    bad, good, moved = _forbidden_urls(), [f"https://{host}/" for host in GOOD], "https://good.test/moved"
    deliveries.add(*bad, *good, moved)
    put_off = deliveries.queue(moved)
    refused, sent = [deliveries.queue(url) for url in bad], [deliveries.queue(url) for url in good]
    proxy, keys = "http://127.0.0.1:3128", secret_file(KEYS["BPC_WEBHOOK_SEALING_KEYS"])
    with worker_inside(
        place, db, BPC_ENV="prod", BPC_WEBHOOK_CA_FILE=authority.ca_file,
        HTTPS_PROXY=proxy, HTTP_PROXY=proxy, ALL_PROXY=proxy, https_proxy=proxy, all_proxy=proxy,
        BPC_WEBHOOK_SEALING_KEYS_FILE=keys,
    ) as running:  # fmt: skip
        until(lambda: _ended(db) >= len(refused) + len(sent), within=60, what="every job ended")
        until(lambda: db.job(put_off)["last_error"] is not None, within=20, what="the redirect was met")
        assert running.stop() == 0
    came = place.accepted - before

    wrong = [db.job(job) for job in refused if not _was_blocked(db.job(job))]
    assert not wrong, [each["last_error"] for each in wrong]
    assert {deliveries.status(job) for job in refused} == {"FAILED"}
    assert {deliveries.status(job) for job in sent} == {"DELIVERED"}
    redirected = deliveries.delivery(put_off)
    assert redirected["http_status"] == 307
    assert str(redirected["error_message"]).startswith("WEBHOOK_FAILED: good.test answered 307, and")
    # One connection for each good one, and for each attempt that was answered with a redirect.
    assert {each.split()[0] for each in came} == {PUBLIC, PUBLIC_6}
    assert sum(came.values()) == len(GOOD) + int(str(db.job(put_off)["attempts"]))
    assert came == Counter({each: count for each, count in came.items() if each.endswith(" 443")})
    db.check_history()


def _ended(db: Database) -> int:
    return int(str(db.one("SELECT count(*) AS n FROM jobs WHERE finished_at IS NOT NULL")["n"]))


def _was_blocked(job: dict[str, object]) -> bool:
    return (job["status"], job["fail_code"], job["attempts"]) == ("FAILED", "WEBHOOK_BLOCKED", 1)
