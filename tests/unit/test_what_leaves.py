"""No hash leaves without a salt: what is withheld cannot be guessed from what is shown."""

import json
from base64 import b32encode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bpc_worker.core.base import base64url
from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.compile import nested
from bpc_worker.core.passport.disclosures import parse_disclosure
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.core.passport.receipt import receipt_bytes, receipt_hash
from bpc_worker.core.passport.snapshot import seal
from tests.support import attacked
from tests.support.generated import Compiled, inputs
from tests.support.guessing import guessed
from tests.support.leaving import Parts, of_version
from tests.support.outgoing import Leaving, listing, shared, values_in
from tests.support.passports import LAW_DATE, whole_view

OLD = json.loads((Path(__file__).parents[1] / "support" / "old_public_view.json").read_text())
STATEMENT: Mapping[str, object] = {
    "code": "MASS_BALANCE",
    "holds": True,
    "message": "the components' masses add up to the battery's, within 2 %",
}
WITHHELD = {
    "identity.status": "original",
    "composition.component_mass": {"unit": "kg", "value": "399.600"},
    "composition.mass_balanced": True,
    "performance.life_years": {"unit": "year", "value": "8"},
    "technical.total_energy": {"unit": "kWh", "value": "36000.0"},
    "technical.carbon_shown": True,
    "technical.carbon_total": {"unit": "kgCO2e", "value": "5400.0"},
    "technical.stage.raw_material": {"unit": "kgCO2e", "value": "3120.5"},
    "technical.stage.production": {"unit": "kgCO2e", "value": "1949.5"},
    "technical.stage.distribution": {"unit": "kgCO2e", "value": "610.0"},
    "technical.stage.end_of_life": {"unit": "kgCO2e", "value": "-280.0"},
}


def around(receipt: Mapping[str, object], schema: str, **more: str) -> dict[str, object]:
    """What a stranger knows of a payload besides its fields: ids and the statements of the rules."""
    ids = {name: receipt[name] for name in ("passport_id", "battery_product_id")}
    stated = STATEMENT if schema == "BPC-PASSPORT-1" else {**STATEMENT, "severity": "warn"}
    return {**ids, "schema": schema, "compliance": [stated], **more}


def compiled(seed: bytes, snapshot_salt: bytes) -> Compiled:
    """All the same but for what comes from the disclosure key."""
    of = inputs(attacked.RULES, attacked.facts(), law_date=LAW_DATE)
    return replace(of, snapshot=seal(of.snapshot.snapshot_id, of.snapshot.facts, snapshot_salt)).compiled(
        seed
    )


def leaving(seed: bytes, snapshot_salt: bytes) -> Leaving:
    made = compiled(seed, snapshot_salt)
    receipt = made.receipt
    code = qr_text(
        passport_version_id=receipt.passport_version_id,
        payload_hash=receipt.payload_hash,
        proof_root_hash=receipt.proof_root_hash,
        receipt_hash=receipt_hash(receipt),
    )
    parts = Parts(
        payload=made.payload, proof=made.proof, receipt=receipt_bytes(receipt),
        snapshot=made.inputs.snapshot.canonical, disclosure_seed=seed, dsl=made.inputs.rules.source,
        qr_payload=code, disclosures="\n".join(whole_view(made).split("~")[1:-1]).encode(),
    )  # fmt: skip
    found = of_version(whole_view(made), parts)
    found.texts["receipt"] = receipt_bytes(receipt).decode()
    return found


@pytest.fixture(scope="module")
def one() -> Leaving:
    return leaving(b"1" * 32, b"1" * 16)


def test_the_attack_finds_all_that_the_former_format_withheld() -> None:
    hashed = bytes.fromhex(OLD["receipt"]["payload_hash"])

    assert guessed(OLD["fields"], around(OLD["receipt"], "BPC-PASSPORT-1"), {hashed}) == WITHHELD


def test_the_attack_finds_nothing_in_what_leaves_now(one: Leaving) -> None:
    """Although it gets receipt and code, and tries what is true; also with every salt that is shown."""
    view, receipt = one.texts["view for public"], json.loads(one.texts["receipt"])
    disclosures = [parse_disclosure(text) for text in view.split("~")[1:-1]]
    public = {each.name: each.value for each in disclosures if each.name in OLD["fields"]}
    seen = values_in(view) | values_in(one.texts["QR text"]) | values_in(one.texts["receipt"])
    assert public == OLD["fields"]
    assert not {each.name for each in disclosures} & set(WITHHELD)

    assert guessed(public, around(receipt, "BPC-PASSPORT-2"), seen, statuses=["original"]) is None
    for each in disclosures:
        salted = around(receipt, "BPC-PASSPORT-2", salt=each.salt.hex())
        assert sha256(encode(salted | {"fields": nested(public | WITHHELD)})) not in seen
        for path, value in WITHHELD.items():
            text = base64url.encode(encode([base64url.encode(each.salt), path, value]))
            assert sha256(text.encode()) not in seen


def test_with_the_salt_the_attack_would_find_it(one: Leaving) -> None:
    """So it is the salt that keeps it, and nothing else that we got wrong."""
    receipt = json.loads(one.texts["receipt"])
    salted = around(receipt, "BPC-PASSPORT-2", salt=one.salts["salt_payload"].hex())
    seen = values_in(one.texts["QR text"])

    assert guessed(OLD["fields"], salted, seen, statuses=["original"]) == WITHHELD


def test_under_two_keys_no_value_is_the_same(one: Leaving) -> None:
    other = leaving(b"2" * 32, b"2" * 16)

    assert shared(one, other) == set()
    assert one.open["rules"] in one.values() & other.values()


def test_under_one_key_they_are_the_same(one: Leaving) -> None:
    assert len(shared(one, leaving(b"1" * 32, b"1" * 16))) > 20


def test_every_hash_that_leaves_has_a_salt(one: Leaving) -> None:
    found = listing(one)

    assert [str(each) for each in found if each.salt is None] == []
    assert {each.preimage for each in found} >= {
        "payload",
        "root of the proof",
        "receipt",
        "snapshot",
        "fields",
    }


@pytest.mark.parametrize(
    "spelled",
    [
        bytes.hex,
        lambda value: value.hex().upper(),
        lambda value: b32encode(value).decode().rstrip("="),
        lambda value: b64encode(value).decode(),
        lambda value: urlsafe_b64encode(value).decode().rstrip("="),
        lambda value: base64url.encode(json.dumps({"inside": value.hex()}).encode()),
    ],
)
def test_a_hash_without_a_salt_is_found_in_every_spelling(spelled: Callable[[bytes], str]) -> None:
    bare = sha256(b"42")
    found = Leaving(texts={"page": f'{{"of":"{spelled(bare)}"}}'}, preimages={"a guess": b"42"})

    [listed] = listing(found)
    assert (listed.value, listed.preimage, listed.salt) == (bare, "a guess", None)
    assert shared(found, found) == {bare}


def test_a_hash_that_nobody_can_explain_has_no_salt_either() -> None:
    [listed] = listing(Leaving(texts={"page": sha256(b"what?").hex()}, salts={"salt": b"0" * 16}))

    assert (listed.preimage, listed.salt) == ("?", None)


def test_a_hash_over_a_salted_hash_is_salted() -> None:
    inner = b"42" + b"s" * 16
    outer = b"[" + sha256(inner).hex().encode() + b"]"
    found = Leaving(
        texts={"page": sha256(outer).hex()},
        preimages={"outer": outer, "inner": inner},
        salts={"its salt": b"s" * 16},
    )

    assert [each.salt for each in listing(found)] == ["its salt, by inner"]
