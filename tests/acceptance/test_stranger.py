"""A stranger checks an exported passport with openssl, sha256sum and a JCS library, as its README says.

None of our code is used but the command that exported it, and the commands come out of the README itself.
"""

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.signed import Signed, signed_passport
from tests.support.worker import command

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def signed(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


def exported(signed: Signed, folder: Path, *options: str) -> Path:
    """The bundle, unpacked by the standard library."""
    name = folder / "passport.zip"
    done = command(
        signed.db.url_as("bpc_app"), "passport", "export", str(signed.version), "--out", str(name),
        "--tenant", "acme", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(name) as archive:
        archive.extractall(unpacked)
    return unpacked


def check(folder: Path) -> tuple[bool, str]:
    """Run what the README says, block by block: whether all of it held, and what was said."""
    blocks = BLOCK.findall((folder / "README.txt").read_text())
    assert [kind for kind, _ in blocks].count("python") == 1
    said = ""
    for kind, code in blocks:
        assert "bpc_worker" not in code
        program = ["sh", "-e", "-c", code] if kind == "sh" else [sys.executable, "-I", "-c", code]
        done = subprocess.run(
            program, cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        said += done.stdout + done.stderr
        if done.returncode != 0:
            return False, said
    return True, said


def test_the_readme_of_a_bundle_is_enough_to_check_it(signed: Signed, tmp_path: Path) -> None:
    held, said = check(exported(signed, tmp_path))

    assert held, said
    assert "Signature Verified Successfully" in said
    assert "payload.json: OK" in said
    assert "ok  facts" in said
    assert "ok  proof" in said
    assert "ok  qr" in said


def test_the_key_has_the_fingerprint_that_the_issuer_says(signed: Signed, tmp_path: Path) -> None:
    folder = exported(signed, tmp_path)
    key = signed.db.one("SELECT public_key FROM signing_keys")["public_key"]
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", "public-key.pem", "-outform", "DER"],
        cwd=folder, capture_output=True, check=True,
    ).stdout  # fmt: skip

    assert isinstance(key, bytes)
    assert der[-32:] == key


CHANGES = {
    "receipt.json": (b'"law_date":"2028', b'"law_date":"2029'),
    "payload.json": (b"EV", b"EW"),
    "snapshot.json": (b"battery", b"batterz"),
    "facts.json": (b"400", b"401"),
    "rules.txt": (b"60", b"61"),
    "proof.json": (b"400", b"401"),
    "qr.txt": (b"BPC1", b"BPC2"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_stranger_notices_a_change(name: str, signed: Signed, tmp_path: Path) -> None:
    folder = exported(signed, tmp_path)
    old, new = CHANGES[name]
    data = (folder / name).read_bytes()
    assert old in data
    (folder / name).write_bytes(data.replace(old, new, 1))

    held, said = check(folder)

    assert not held, said


def test_another_key_does_not_verify(signed: Signed, tmp_path: Path) -> None:
    folder = exported(signed, tmp_path)
    make = "openssl genpkey -algorithm ed25519 | openssl pkey -pubout > public-key.pem"
    subprocess.run(["sh", "-c", make], cwd=folder, check=True, capture_output=True)

    held, _ = check(folder)

    assert not held
