from uuid import UUID

import pytest

from bpc_worker.core.passport.salts import SaltError, Salts, disclosure_seed, export_name, snapshot_salt
from tests.vectors import load

EXAMPLE = load("view/example")
GIVEN, EXPECTED = EXAMPLE["input"], EXAMPLE["expected"]
KEY = bytes.fromhex(GIVEN["disclosure_key"])


def test_the_golden_salts_come_from_the_golden_key() -> None:
    seed = disclosure_seed(KEY, UUID(GIVEN["passport_version_id"]))
    salts, expected = Salts(seed), EXPECTED["salts"]

    assert seed.hex() == EXPECTED["seed"]
    assert snapshot_salt(KEY, UUID(GIVEN["snapshot_id"])).hex() == expected["snapshot"]
    assert (salts.payload.hex(), salts.proof.hex()) == (expected["payload"], expected["proof"])
    assert {each: salts.set_of(each.split(",")).hex() for each in expected["sets"]} == expected["sets"]
    assert {path: salts.field(path).hex() for path in expected["fields"]} == expected["fields"]
    assert {code: salts.statement(code).hex() for code in expected["statements"]} == expected["statements"]


def test_nothing_has_the_salt_of_something_else() -> None:
    salts = Salts(bytes(32))
    made = [
        salts.payload, salts.proof, salts.set_of(["a", "b"]), salts.set_of(["a"]), salts.field("payload"),
        salts.field("a"), salts.field("set"), salts.statement("a"), salts.statement("payload"),
    ]  # fmt: skip

    assert len({*made}) == len(made)
    assert {len(each) for each in made} == {16}


def test_the_name_of_a_file_is_no_hash_of_it() -> None:
    assert export_name(bytes(32), b"label") != export_name(bytes([1]) * 32, b"label")
    assert len(export_name(bytes(32), b"")) == 64


@pytest.mark.parametrize("size", [0, 16, 31])
def test_a_short_key_makes_no_salts(size: int) -> None:
    with pytest.raises(SaltError, match=rf"^disclosure key: expected at least 32 bytes, found {size}$"):
        disclosure_seed(bytes(size), UUID(int=1))
    with pytest.raises(SaltError, match=r"^disclosure key"):
        snapshot_salt(bytes(size), UUID(int=1))


@pytest.mark.parametrize("size", [31, 33])
def test_a_seed_has_its_size(size: int) -> None:
    with pytest.raises(SaltError, match=rf"^disclosure seed: expected 32 bytes, found {size}$"):
        Salts(bytes(size))


def test_a_seed_is_not_printed() -> None:
    assert "\\x07" not in repr(Salts(bytes([7]) * 32))
