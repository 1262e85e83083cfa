"""Whether a passport is in force, as far as a verifier without a database can know it; and whose it is."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bpc_worker.cli.passport import passport
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.passport.status_list import Status, claims, pack, token
from bpc_worker.files.bundles import write_zip
from tests.support.generated import inputs
from tests.support.passports import KEY_ID, SIGNER, bundle_of, whole_view, write_keys

MADE = inputs("field low.bound: Int for public = 5;", ()).compiled()
RECEIPT = MADE.receipt
STATUS_KEY = Ed25519Signer("status-1", bytes(range(1, 33)))
STATUS_ENTRY = {
    "key_id": "status-1",
    "public_key": STATUS_KEY.public_key.hex(),
    "status": "ACTIVE",
    "purposes": ["status"],
}


@pytest.fixture(params=["passport.zip", "view.sd-jwt"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A passport as an archive has it, and as somebody is shown it."""
    file = tmp_path / str(request.param)
    data = write_zip(bundle_of(MADE)) if file.suffix == ".zip" else whole_view(MADE).encode()
    file.write_bytes(data)
    return file


def a_list(
    folder: Path, status: Status, *, uri: str = RECEIPT.status_list_uri, age: int = 0,
    signer: Ed25519Signer = STATUS_KEY,
) -> Path:  # fmt: skip
    """What the issuer hands out: the place of the passport has this status, all others have another."""
    document = claims(uri, int(time.time()) - age, pack({status: [RECEIPT.status_list_idx]}))
    file = folder / "status.jwt"
    file.write_text(token(document, signer.key_id, signer.sign(Kind.STATUS_LIST, document)))
    return file


def verify(bundle: Path, *more: object, issuers: list[str] | None = None) -> Result:
    named = [RECEIPT.issuer] if issuers is None else issuers
    keys = write_keys(bundle.parent, STATUS_ENTRY, issuers=named)
    words = ["verify", str(bundle), "--keys", str(keys), *map(str, more)]
    return CliRunner().invoke(passport, words, env={"BPC_KEYS_FILE": None, "BPC_TENANT": None})


def found(done: Result) -> dict[str, Any]:
    said = json.loads(done.stdout)
    assert isinstance(said, dict)
    return said


def test_offline_the_status_is_not_known(bundle: Path) -> None:
    done, machine = verify(bundle), verify(bundle, "--json")

    assert (done.exit_code, machine.exit_code) == (0, 0)
    assert "\nvalid as issued: " in done.stdout
    assert "status not known offline" in done.stdout
    assert RECEIPT.status_list_uri in done.stdout
    assert (found(machine)["valid"], found(machine)["status"], found(machine)["current"]) == (
        True,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("status", "code", "current_code", "said"),
    [
        (Status.ACTIVE, 0, 0, "\nvalid and in force: "),
        (Status.REVOKED, 1, 1, "\nnot valid: "),
        (Status.NOT_IN_FORCE, 0, 1, "\nvalid as issued, not in force: "),
        (Status.SUPERSEDED, 0, 1, "\nvalid as issued, superseded: "),
    ],
)
def test_with_a_status_list_it_is(
    bundle: Path, status: Status, code: int, current_code: int, said: str
) -> None:
    known = a_list(bundle.parent, status)
    done = verify(bundle, "--status-list", known)
    machine = verify(bundle, "--status-list", known, "--json")

    assert (done.exit_code, machine.exit_code) == (code, code)
    assert said in done.stdout
    assert verify(bundle, "--status-list", known, "--current").exit_code == current_code
    assert found(machine)["status"] == status.name
    assert found(machine)["valid"] is (status is not Status.REVOKED)
    assert found(machine)["current"] is (status is Status.ACTIVE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"uri": "https://passports.example/status/99"}, "another list: the passport's is"),
        ({"age": 90_000}, "it expired at"),
        ({"age": -900}, "it is of the future"),
        ({"signer": Ed25519Signer(KEY_ID, bytes(range(32)))}, "another purpose"),
        ({"signer": Ed25519Signer("status-1", bytes(32))}, "not a signature of public key"),
    ],
)
def test_a_list_that_says_nothing_about_it_is_refused(
    bundle: Path, change: dict[str, Any], said: str
) -> None:
    done = verify(bundle, "--status-list", a_list(bundle.parent, Status.ACTIVE, **change))

    assert done.exit_code == 2
    assert said in done.stderr


def test_what_is_current_cannot_be_told_without_a_list(bundle: Path) -> None:
    done = verify(bundle, "--current")

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"--status-list FILE, a copy of {RECEIPT.status_list_uri}" in done.stderr


def test_keys_of_one_issuer_say_nothing_about_passports_of_another(bundle: Path) -> None:
    done = verify(bundle, "--json", issuers=["https://other.example"])
    unnamed = verify(bundle, issuers=[])

    assert done.exit_code == 1
    assert found(done).get("part", found(done).get("place")) in {"receipt.json", "/claims/iss"}
    assert f"it is of {RECEIPT.issuer}, the keys are those of https://other.example" in found(done)["message"]
    assert unnamed.exit_code == 0
    assert f"name no issuer: nobody has checked that they speak for {RECEIPT.issuer}" in unnamed.stderr


def test_the_signer_of_the_tests_is_the_one_in_the_file() -> None:
    assert Ed25519Signer(KEY_ID, bytes(range(32))).public_key == SIGNER.public_key
