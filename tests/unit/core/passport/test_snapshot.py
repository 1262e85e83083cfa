import dataclasses
from collections.abc import Iterable
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.canonical_json import decode, encode
from bpc_worker.core.base.forms import parse_hash
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.snapshot import (
    FactRef,
    ModelRef,
    SealedSnapshot,
    SnapshotError,
    check_facts,
    open_snapshot,
    seal_item,
)
from bpc_worker.core.passport.snapshot import seal as sealed
from tests.vectors import load

SNAPSHOT_ID = UUID(int=1)
SALT = bytes(16)
BATTERY = FactRef("Battery", "battery:X", sha256(b"battery"))
CELL = FactRef("Pcf", "pcf:cell", sha256(b"cell"))

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=5)
hashes = st.binary(min_size=32, max_size=32)
fact_lists = st.lists(
    st.builds(FactRef, texts, texts, hashes),
    max_size=8,
    unique_by=lambda fact: (fact.fact_type, fact.fact_key),
)


def seal(facts: Iterable[FactRef]) -> SealedSnapshot:
    return sealed(SNAPSHOT_ID, facts, SALT)


def test_a_salt_has_its_size() -> None:
    with pytest.raises(SnapshotError, match=r"^/salt: expected a salt of 16 bytes, found 15 bytes$"):
        sealed(SNAPSHOT_ID, [BATTERY], bytes(15))


@pytest.mark.parametrize("name", ["two_facts", "no_facts", "order_of_bytes"])
def test_golden_vectors_give_their_bytes_and_hash(name: str) -> None:
    vector = load(f"snapshot/{name}")
    facts = [
        FactRef(each["fact_type"], each["fact_key"], parse_hash(each["payload_hash"]))
        for each in vector["input"]["facts"]
    ]

    snapshot = sealed(UUID(vector["input"]["snapshot_id"]), facts, bytes.fromhex(vector["input"]["salt"]))

    assert snapshot.canonical.decode() == vector["expected"]["canonical"]
    assert snapshot.snapshot_hash.hex() == vector["expected"]["sha256"]


@given(fact_lists, st.randoms())
def test_the_order_of_the_facts_does_not_matter(facts: list[FactRef], dice: Random) -> None:
    shuffled = dice.sample(facts, len(facts))

    assert seal(shuffled) == seal(facts)


@given(fact_lists)
def test_facts_stand_in_the_order_of_utf_8_bytes(facts: list[FactRef]) -> None:
    expected = sorted(facts, key=lambda fact: (fact.fact_type.encode(), fact.fact_key.encode()))

    assert list(seal(facts).facts) == expected


@given(fact_lists)
def test_opening_gives_the_sealed_snapshot_again(facts: list[FactRef]) -> None:
    snapshot = seal(facts)

    assert open_snapshot(snapshot.canonical, snapshot.snapshot_hash) == snapshot


@pytest.mark.parametrize(
    "other",
    [
        sealed(UUID(int=2), [BATTERY, CELL], SALT),
        sealed(SNAPSHOT_ID, [BATTERY, CELL], bytes([1]) * 16),
        seal([BATTERY]),
        seal([BATTERY, dataclasses.replace(CELL, payload_hash=sha256(b"x"))]),
        seal([BATTERY, dataclasses.replace(CELL, fact_key="pcf:cel")]),
        seal([BATTERY, dataclasses.replace(CELL, fact_type="pcf")]),
    ],
)
def test_any_other_content_has_another_hash(other: SealedSnapshot) -> None:
    assert other.snapshot_hash != seal([BATTERY, CELL]).snapshot_hash


def test_the_same_fact_twice_is_refused() -> None:
    with pytest.raises(
        SnapshotError, match=r"^fact 'Battery' 'battery:X' is there twice, with payload hash "
    ):
        seal([BATTERY, CELL, BATTERY])


def test_two_contents_of_one_fact_are_refused_with_both_hashes() -> None:
    other = dataclasses.replace(BATTERY, payload_hash=bytes(32))

    with pytest.raises(
        SnapshotError, match=f"'battery:X' has two contents.* {'00' * 32} and {BATTERY.payload_hash.hex()}"
    ):
        seal([BATTERY, CELL, other])


@pytest.mark.parametrize(
    ("bad", "path"),
    [
        (FactRef("", "key", bytes(32)), "/facts/0/fact_type"),
        (FactRef("A", "", bytes(32)), "/facts/0/fact_key"),
        (FactRef("Z", "key", bytes(31)), "/facts/2/payload_hash"),
        (FactRef("Z", "\ud800", bytes(32)), "/facts/2/fact_key"),
        (FactRef("Z", "a\0", bytes(32)), "/facts/2/fact_key"),
    ],
)
def test_ill_formed_facts_are_refused_with_their_place(bad: FactRef, path: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        seal([CELL, bad, BATTERY])

    assert caught.value.path == path


def test_only_sealing_makes_a_sealed_snapshot() -> None:
    with pytest.raises(TypeError, match=r"comes from seal\(\)"):
        SealedSnapshot(
            snapshot_id=SNAPSHOT_ID,
            salt=SALT,
            facts=(CELL, BATTERY),
            model=None,
            canonical=b"",
            snapshot_hash=bytes(32),
            made_by=None,
        )
    with pytest.raises(TypeError):
        dataclasses.replace(seal([BATTERY]), facts=(), made_by=None)


def test_bytes_with_another_hash_are_refused_with_both() -> None:
    snapshot = seal([BATTERY])
    found = snapshot.snapshot_hash.hex()

    with pytest.raises(SnapshotError, match=f"^hash: expected {'00' * 32}, found {found}$"):
        open_snapshot(snapshot.canonical, bytes(32))


def test_every_flipped_bit_is_noticed() -> None:
    snapshot = seal([BATTERY])
    for bit in range(8 * len(snapshot.canonical)):
        flipped = bytearray(snapshot.canonical)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SnapshotError):
            open_snapshot(bytes(flipped), snapshot.snapshot_hash)


def good() -> dict[str, object]:
    document = decode(seal([BATTERY, CELL]).canonical)
    assert isinstance(document, dict)
    return dict(document)


def facts_of(document: dict[str, object]) -> list[dict[str, object]]:
    facts = document["facts"]
    assert isinstance(facts, list)
    return facts


ILL_FORMED: list[tuple[object, str]] = [
    ([], ""),
    ({"snapshot_id": str(SNAPSHOT_ID)}, ""),
    (good() | {"note": "hello"}, ""),
    (good() | {"snapshot_version": "BPC-SNAPSHOT-1"}, "/snapshot_version"),
    (good() | {"snapshot_id": "1"}, "/snapshot_id"),
    (good() | {"salt": "00" * 15}, "/salt"),
    (good() | {"salt": "AB" * 16}, "/salt"),
    (good() | {"salt": 5}, "/salt"),
    (good() | {"facts": {}}, "/facts"),
    (good() | {"facts": [1]}, "/facts/0"),
    (good() | {"facts": [{"fact_type": "A", "fact_key": "a"}]}, "/facts/0"),
    (good() | {"facts": [facts_of(good())[0] | {"fact_type": 1}]}, "/facts/0/fact_type"),
    (good() | {"facts": [facts_of(good())[0] | {"fact_key": ""}]}, "/facts/0/fact_key"),
    (good() | {"facts": [facts_of(good())[0] | {"payload_hash": "AB" * 32}]}, "/facts/0/payload_hash"),
    (good() | {"facts": facts_of(good())[::-1]}, "/facts/0"),
    (good() | {"facts": facts_of(good())[:1] * 2}, ""),
]


@pytest.mark.parametrize(("document", "path"), ILL_FORMED)
def test_bytes_with_the_right_hash_but_another_form_are_refused(document: object, path: str) -> None:
    data = encode(document)

    with pytest.raises(SnapshotError) as caught:
        open_snapshot(data, sha256(data))

    assert caught.value.path == path


def test_bytes_that_are_not_canonical_are_refused() -> None:
    data = seal([BATTERY]).canonical + b"\n"

    with pytest.raises(SnapshotError, match="not canonical"):
        open_snapshot(data, sha256(data))


def test_facts_out_of_order_are_named() -> None:
    data = encode(good() | {"facts": facts_of(good())[::-1]})

    with pytest.raises(
        SnapshotError, match=r"^/facts/0: out of order: expected fact 'Battery' 'battery:X' here$"
    ):
        open_snapshot(data, sha256(data))


MODEL_ID = UUID(int=7)
MODEL_SALT = bytes([7]) * 16
OWN = FactRef("Value", "identity.batch", sha256(b"batch"))
MODEL = sealed(MODEL_ID, [BATTERY, CELL], MODEL_SALT)
ANOTHER_CELL = FactRef(CELL.fact_type, CELL.fact_key, sha256(b"another"))


def item(*own: FactRef) -> SealedSnapshot:
    return seal_item(SNAPSHOT_ID, own, SALT, MODEL)


def test_a_battery_has_its_models_facts_and_its_own_by_reference() -> None:
    snapshot = item(OWN)

    assert snapshot.facts == (OWN,)
    assert snapshot.model == ModelRef(
        snapshot_id=MODEL_ID, salt=MODEL_SALT, snapshot_hash=MODEL.snapshot_hash, without=()
    )
    check_facts(snapshot, [CELL, OWN, BATTERY])


def test_what_the_battery_says_as_its_model_does_is_the_models() -> None:
    snapshot = item(OWN, CELL)

    assert snapshot == item(OWN)


def test_what_the_battery_says_otherwise_than_its_model_replaces_it() -> None:
    snapshot = item(ANOTHER_CELL)

    assert snapshot.model is not None
    assert snapshot.model.without == (CELL,)
    check_facts(snapshot, [BATTERY, ANOTHER_CELL])


@pytest.mark.parametrize("own", [(OWN,), (ANOTHER_CELL, OWN), ()], ids=["its own", "replaced", "nothing"])
def test_opening_gives_the_snapshot_of_a_battery_again(own: tuple[FactRef, ...]) -> None:
    snapshot = item(*own)

    assert open_snapshot(snapshot.canonical, snapshot.snapshot_hash) == snapshot


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([BATTERY, CELL], "^the facts are not the snapshot's: Value identity.batch$"),
        ([OWN, BATTERY], "^/model: the facts are not those of the model and of this battery$"),
        ([OWN, BATTERY, ANOTHER_CELL], "^/model: the facts are not those of the model"),
        ([OWN, BATTERY, CELL, FactRef("A", "b", bytes(32))], "^/model: the facts are not those of the model"),
        ([OWN, BATTERY, CELL, CELL], "is there twice"),
        (
            [OWN, BATTERY, CELL, FactRef(OWN.fact_type, OWN.fact_key, bytes(32))],
            "^/model/without: it names the facts that the battery's own replace, and no others$",
        ),
    ],
    ids=["not its own", "one less", "another", "one more", "one twice", "two contents"],
)
def test_the_facts_of_a_battery_are_those_that_were_sealed(facts: list[FactRef], message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        check_facts(item(OWN), facts)


def test_nothing_of_a_model_is_left_out_but_what_is_replaced() -> None:
    whole = item(OWN).model
    assert whole is not None
    lacking = sealed(SNAPSHOT_ID, [OWN], SALT, dataclasses.replace(whole, without=(CELL,)))

    with pytest.raises(SnapshotError, match=r"^/model/without: "):
        check_facts(lacking, [OWN, BATTERY])


def test_a_battery_is_no_model() -> None:
    with pytest.raises(SnapshotError, match=r"^/model: this is the snapshot of a battery, not of a model$"):
        seal_item(SNAPSHOT_ID, [OWN], SALT, item(OWN))


def test_what_was_replaced_stands_in_order() -> None:
    another = FactRef(BATTERY.fact_type, BATTERY.fact_key, sha256(b"another"))
    document: Any = decode(item(another, ANOTHER_CELL).canonical)
    document["model"]["without"].reverse()
    data = encode(document)

    with pytest.raises(SnapshotError, match=r"^/model/without: out of order$"):
        open_snapshot(data, sha256(data))


def test_the_golden_vector_of_a_battery_gives_its_bytes_and_hash() -> None:
    vector, model = load("snapshot/of_an_item"), load("snapshot/two_facts")

    def refs(told: Any) -> list[FactRef]:
        return [
            FactRef(each["fact_type"], each["fact_key"], parse_hash(each["payload_hash"])) for each in told
        ]

    of = model["input"]
    whole = sealed(UUID(of["snapshot_id"]), refs(of["facts"]), bytes.fromhex(of["salt"]))
    told = vector["input"]
    snapshot = seal_item(UUID(told["snapshot_id"]), refs(told["facts"]), bytes.fromhex(told["salt"]), whole)

    assert snapshot.canonical.decode() == vector["expected"]["canonical"]
    assert snapshot.snapshot_hash.hex() == vector["expected"]["sha256"]
