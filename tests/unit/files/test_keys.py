"""Registries and seeds on disk."""

import json
import stat
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from bpc_worker.core.base.signing import Ed25519Signer, KeyStatus, Purpose
from bpc_worker.files.keys import (
    KeyFileError,
    new_seed,
    read_key_file,
    thumbprint,
    write_registry,
    write_seed,
)

PUBLIC = Ed25519Signer("k", bytes(range(32))).public_key
OTHER = Ed25519Signer("s", bytes(32)).public_key


def registry(folder: Path, *entries: object) -> Path:
    file = folder / "keys.json"
    file.write_text(json.dumps({"keys": entries}))
    return file


def entry(**changes: object) -> dict[str, object]:
    return {"key_id": "k", "public_key": b64encode(PUBLIC).decode(), "status": "ACTIVE"} | changes


@pytest.mark.parametrize("text", [b64encode(PUBLIC).decode(), PUBLIC.hex(), PUBLIC.hex().upper()])
def test_a_public_key_is_base64_or_hex(tmp_path: Path, text: str) -> None:
    found = read_key_file(registry(tmp_path, entry(public_key=text, status="RETIRED"))).registry

    assert found.keys["k"].public_key == PUBLIC
    assert found.keys["k"].status is KeyStatus.RETIRED


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (entry(public_key="AAAA"), "keys[0]: public_key is not 32 bytes"),
        (entry(public_key="no base64!"), "keys[0]: public_key is not 32 bytes"),
        (entry(public_key=b64encode(PUBLIC).decode() + "\n"), "keys[0]: public_key is not 32 bytes"),
        (entry(purposes=["sealing"]), "$.keys[0].purposes"),
        (entry(status="LOST"), "$.keys[0].status"),
        (entry(key_id=""), "keys[0]: key_id '' is empty"),
        (entry(key_id=7), "$.keys[0].key_id"),
        ({"key_id": "k"}, "missing required field `public_key`"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, wrong: object, said: str) -> None:
    with pytest.raises(KeyFileError) as caught:
        read_key_file(registry(tmp_path, wrong))

    assert said in str(caught.value)
    assert str(tmp_path / "keys.json") in str(caught.value)


def test_a_key_that_should_not_be_trusted_is_skipped_and_named(tmp_path: Path) -> None:
    small, mixed = entry(key_id="small", public_key=bytes(32).hex()), entry(purposes=["status", "passport"])
    found = read_key_file(registry(tmp_path, small, mixed, entry(key_id="good"))).registry

    assert list(found.keys) == ["good"]
    assert [str(each).partition(": ")[0] for each in found.skipped] == ["key 'small'", "key 'k'"]


def test_a_file_says_for_whom_its_keys_speak_and_what_they_are_for(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    entries = [entry(), entry(key_id="s", purposes=["status"], public_key=OTHER.hex())]
    file.write_text(json.dumps({"issuers": ["https://a.example", "https://b.example"], "keys": entries}))
    found = read_key_file(file)

    assert found.issuers == ("https://a.example", "https://b.example")
    assert found.registry.keys["k"].purposes == {Purpose.PASSPORT, Purpose.CHECKPOINT}
    assert found.registry.keys["s"].purposes == {Purpose.STATUS}
    assert read_key_file(registry(tmp_path, entry())).issuers == ()


def test_two_keys_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"keys\[1\]: key_id 'k' is empty or there twice"):
        read_key_file(registry(tmp_path, entry(), entry()))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"keys": {}}', b"\xff", b"[" * 100_000, b" " * 1_048_577]
)
def test_a_file_that_is_no_registry_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(data)
    with pytest.raises(KeyFileError):
        read_key_file(file)


def test_a_registry_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="No such file"):
        read_key_file(tmp_path / "none.json")


def test_the_thumbprint_is_that_of_rfc_8037() -> None:
    """Appendix A.3."""
    x = b64decode("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")

    assert thumbprint(x) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a_seed_is_readable_by_its_owner_alone_and_never_overwritten(tmp_path: Path) -> None:
    file, seed = tmp_path / "k.seed", new_seed()
    write_seed(file, seed)

    assert b64decode(file.read_text()) == seed
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(KeyFileError, match="never overwritten"):
        write_seed(file, new_seed())
    assert b64decode(file.read_text()) == seed


def test_a_seed_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(KeyFileError):
        write_seed(tmp_path / "link", new_seed())

    assert not (tmp_path / "target").exists()


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="No such file"):
        write_seed(tmp_path / "none" / "k.seed", new_seed())


def test_seeds_differ() -> None:
    assert len({new_seed() for _ in range(100)}) == 100


def test_a_registry_is_written_in_one_step_and_can_be_read_by_all(tmp_path: Path) -> None:
    file = registry(tmp_path, entry(status="REVOKED"))
    write_registry(file, json.dumps({"keys": [entry()]}))

    assert read_key_file(file).registry.keys["k"].status is KeyStatus.ACTIVE
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [*tmp_path.iterdir()] == [file]


def test_a_registry_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "keys.json").mkdir()

    with pytest.raises(KeyFileError, match=r"keys\.json"):
        write_registry(tmp_path / "keys.json", "{}")
    with pytest.raises(KeyFileError, match="No such file"):
        write_registry(tmp_path / "none" / "keys.json", "{}")
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]
