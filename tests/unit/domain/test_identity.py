"""The facts about a battery, and what a snapshot must not be used for."""

from uuid import UUID

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.domain.identity import check_about, check_host, copy_in, facts_about, reference, untold
from bpc_worker.domain.records import Fact, Passport
from bpc_worker.domain.states import Granularity
from bpc_worker.jobs.errors import Permanent
from bpc_worker.testing.transactions import FakeTx

ID = UUID(int=7)
URL = "https://id.volt.eu/p/0123456789ABCDEF"
PASSPORT = Passport(ID, ID, "417", Granularity.ITEM, URL)


def a_fact(url: str, fact_type: str = "Identity") -> Fact:
    return Fact(fact_type, "identity", canonical_json.encode({"unique_identifier": url}))


async def test_what_nobody_has_said_is_left_out() -> None:
    tx = FakeTx(
        {
            "passports/known": [
                {
                    "identity": {"serial": "417", "unique_identifier": URL},
                    "product": {"identifier": "EV78", "gtin": None},
                    "operator": {"name": "Volt Works", "address": {}, "identifiers": {"GLN": "1"}},
                    "facility": None,
                    "registration_id": "REG-1",
                }
            ]
        }
    )

    assert {fact.fact_type: fact.canonical for fact in await facts_about(tx, ID, ID)} == {
        "Identity": f'{{"serial":"417","unique_identifier":"{URL}"}}'.encode(),
        "Product": b'{"identifier":"EV78"}',
        "Operator": b'{"identifiers":{"GLN":"1"},"name":"Volt Works"}',
        "Value": b'{"value":"REG-1"}',
    }


def test_what_a_document_tells_is_not_told_again() -> None:
    registration = Fact("Value", "registry.registration_id", b'{"value":"REG-1"}')
    by_document = Fact("Value", "registry.registration_id", b'{"value":"REG-2"}')

    assert untold([a_fact(URL), registration], [reference(by_document)]) == [a_fact(URL)]


async def test_no_facts_write_nothing() -> None:
    tx = FakeTx()
    await copy_in(tx, ID, ID, [])

    assert tx.names == []


def test_a_fact_is_named_by_the_hash_of_its_bytes() -> None:
    fact = a_fact(URL)

    assert reference(fact).payload_hash == sha256(fact.canonical)


def test_a_snapshot_of_another_battery_is_refused() -> None:
    check_about([], PASSPORT)
    check_about([a_fact("https://id.volt.eu/p/X", "Battery"), a_fact(URL)], PASSPORT)
    with pytest.raises(Permanent, match=r"the snapshot is about https://id.volt.eu/p/X, the passport is"):
        check_about([a_fact("https://id.volt.eu/p/X")], PASSPORT)


def test_an_identity_that_tells_no_text_is_nobodys() -> None:
    with pytest.raises(Permanent, match=r"the snapshot is about \[1\], the passport is"):
        check_about([Fact("Identity", "identity", b'{"unique_identifier":[1]}')], PASSPORT)


def test_in_production_nobody_stands_in() -> None:
    stand_in = Passport(ID, ID, "417", Granularity.ITEM, "https://passports.example/p/0123456789ABCDEF")
    check_host(PASSPORT, stand_in=False)
    check_host(stand_in, stand_in=True)
    with pytest.raises(Permanent, match=r"CONFIG_MISSING: https://passports.example/p/.* env is prod"):
        check_host(stand_in, stand_in=False)
