"""`signing.keys`: for each tenant a key of its own, in a file or behind a program."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from bpc_worker import wiring
from bpc_worker.config.load import describe, load
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.keys.command_signer import CommandSigner
from bpc_worker.keys.keyring import DEVELOPMENT_SEED
from tests.support.configuration import problem

SEED = bytes(range(32))
PUBLIC = Ed25519Signer("", SEED).public_key.hex()
COMMAND = {"argv": ["/usr/bin/sign", "--pin=1234"]}


def seed_file(folder: Path, seed: bytes = SEED) -> str:
    path = folder / "seed"
    path.write_text(b64encode(seed).decode() + "\n")
    return str(path)


def of(*entries: object, **env: str) -> dict[str, str]:
    return {"BPC_SIGNING_KEYS": json.dumps(entries)} | env


def test_keys_are_read_from_their_files_and_shown_by_tenant_alone(tmp_path: Path) -> None:
    env = of(
        {"tenant": "acme", "key_id": "2028-1", "private_key_file": seed_file(tmp_path)},
        {"tenant": "other", "key_id": "2028-1", "command": COMMAND, "public_key": PUBLIC},
    )
    settings = load(env=env)
    first, second = wiring.keyring(settings).signers[1:]

    assert (first.key_id, first.public_key.hex()) == ("2028-1", PUBLIC)
    assert isinstance(second, CommandSigner)
    assert ("signing.keys", "acme, other", "env:BPC_SIGNING_KEYS") in describe(settings)
    assert "1234" not in repr(settings.signing.keys)
    assert repr(SEED) not in repr(settings.signing.keys)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"tenant": "acme", "key_id": "k"}, "either private_key_file, or command and public_key"),
        ({"tenant": "acme", "key_id": "k", "command": COMMAND}, "either private_key_file, or command"),
        ({"tenant": "acme", "key_id": "k", "private_key_file": "/no/such"}, "/no/such: No such file"),
        ({"tenant": "", "key_id": "k"}, "key 1: "),
        ({"tenant": "acme", "key_id": "k", "seed": "x"}, "unknown field `seed`"),
        ({"tenant": "a", "key_id": "k", "command": {"argv": ["sign"]}, "public_key": PUBLIC}, "absolute"),
        ({"tenant": "a", "key_id": "k", "command": COMMAND, "public_key": "AAAA"}, "not exactly 32 bytes"),
    ],
)
def test_an_entry_that_is_wrong_is_named_by_its_number(entry: dict[str, object], said: str) -> None:
    told = problem(of(entry))

    assert said in told
    assert "key 1: " in told


def test_a_file_without_a_seed_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "seed"
    path.write_text("hunter2")
    told = problem(of({"tenant": "acme", "key_id": "k", "private_key_file": str(path)}))

    assert "not exactly 32 bytes in base64" in told
    assert "hunter2" not in told


def test_no_two_have_the_same(tmp_path: Path) -> None:
    acme = {"tenant": "acme", "key_id": "k", "private_key_file": seed_file(tmp_path)}
    seed = b64encode(SEED).decode()
    ours = {"BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": seed, "BPC_SIGNING_KEY_ID": "k"}
    status = {"BPC_SIGNING_STATUS_PRIVATE_KEY": seed, "BPC_SIGNING_STATUS_KEY_ID": "s"}

    assert "key 2: acme has one already" in problem(of(acme, acme))
    assert "two tenants have the same key" in problem(of(acme, acme | {"tenant": "other"}))
    assert "the key of acme is also signing.private_key" in problem(of(acme) | ours)
    assert "the key of acme is also signing.status_private_key" in problem(of(acme) | status)
    assert "it is not a list" in problem({"BPC_SIGNING_KEYS": "{}"})


def test_production_refuses_the_key_that_everybody_knows(tmp_path: Path) -> None:
    known = {"tenant": "acme", "key_id": "k", "private_key_file": seed_file(tmp_path, DEVELOPMENT_SEED)}
    told = problem(
        of(known) | {"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql://u@h/d?sslmode=verify-full"}
    )

    assert "the development key, which everybody knows" in told
