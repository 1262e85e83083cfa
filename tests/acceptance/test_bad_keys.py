"""Keys that count no more, or never did: each is refused with its reason wherever a key is believed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.export import export
from bpc_worker.pipeline.passports import activate
from bpc_worker.pipeline.replays import replay_version
from bpc_worker.postgres.embedded.server import Server
from tests.support.exports import BUNDLE, nowhere
from tests.support.signed import Signed, clone, signed_passport
from tests.support.worker import command, until, worker

pytestmark = pytest.mark.acceptance

OTHER = Ed25519Signer("", bytes(range(32))).public_key.hex()
NO_POINT = "02" + "00" * 31
KEYS = "UPDATE signing_keys SET"
# What is done to the registry, behind every guard, and the words of whoever notices.
FAULTS = {
    "revoked": (f"{KEYS} status = 'REVOKED'", "key 'development' is revoked"),
    "unknown": (f"{KEYS} key_id = 'another'", "key 'development' is not in the registry"),
    "swapped": (f"{KEYS} public_key = decode('{OTHER}', 'hex')", OTHER),
    "no point": (f"{KEYS} public_key = decode('{NO_POINT}', 'hex')", "no point of the curve"),
}


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


@pytest.fixture(params=FAULTS)
def ill(request: pytest.FixtureRequest, original: Signed) -> Iterator[tuple[Signed, str]]:
    """A signed passport whose key has become a bad one, and what is to be said of it."""
    statement, words = FAULTS[request.param]
    with clone(original) as copy:
        copy.tamper(statement)
        yield copy, words


def test_a_replay_refuses(ill: tuple[Signed, str]) -> None:
    signed, words = ill
    part, message = replayed(signed)

    assert part == "signature"
    assert words in message


def replayed(signed: Signed) -> tuple[str | None, str]:
    """The part that does not hold, and why."""
    found = signed.path.call(lambda pipeline: replay_version(pipeline, str(signed.version)))
    return found.part, found.message


def test_it_does_not_come_into_force_and_is_not_handed_out(ill: tuple[Signed, str]) -> None:
    signed, words = ill
    with pytest.raises(Permanent) as inactive:
        signed.path.call(lambda pipeline: activate(pipeline, str(signed.version)))
    with pytest.raises(Permanent) as kept:
        signed.path.call(lambda pipeline: export(pipeline, str(signed.version), BUNDLE, nowhere))

    assert inactive.value.code == "SIGNATURE_INVALID"
    for error in (inactive.value, kept.value):
        assert words in error.message


def test_nothing_is_signed_with_it(ill: tuple[Signed, str]) -> None:
    signed, words = ill
    signed.tamper(
        "UPDATE passport_versions SET status = 'COMPILING', signature = NULL, view_signature = NULL,"
        " public_key = NULL, qr_payload = NULL, qr_png = NULL"
    )
    job = signed.db.enqueue("SIGN_PASSPORT", json.dumps({"passport_version_id": str(signed.version)}))
    with worker(signed.db.url_as("bpc_worker")):
        until(lambda: signed.db.job(job)["status"] == "FAILED", within=30, what="a refusal")

    found = signed.db.job(job)
    assert words in str(found["fail_reason"])
    assert found["fail_code"] == ("SIGNATURE_INVALID" if "point" in words else "SIGNING_KEY_MISSING")
    assert found["attempts"] == 1
    assert signed.db.one("SELECT signature FROM passport_versions")["signature"] is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_verifier_without_a_database_refuses(original: Signed, tmp_path: Path, fault: str) -> None:
    key = original.db.one("SELECT key_id, public_key FROM signing_keys")
    bundle = tmp_path / "passport.zip"
    url = original.db.url_as("bpc_app")
    handed = command(
        url, "passport", "export", str(original.version), "--out", str(bundle), BPC_TENANT="acme"
    )
    assert handed.returncode == 0, handed.stderr
    public_key = key["public_key"]
    assert isinstance(public_key, bytes)
    entry = {
        "key_id": "another" if fault == "unknown" else str(key["key_id"]),
        "public_key": {"swapped": OTHER, "no point": NO_POINT}.get(fault, public_key.hex()),
        "status": "REVOKED" if fault == "revoked" else "ACTIVE",
    }
    registry = tmp_path / "keys.json"
    registry.write_text(json.dumps({"keys": [entry]}))
    done = command("", "passport", "verify", str(bundle), "--keys", str(registry), BPC_DATABASE_URL="")

    assert done.returncode in {1, 2}
    assert FAULTS[fault][1] in done.stdout + done.stderr
