import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.compile import CompileError, Sizes, evaluate_passport, nested, version_id
from bpc_worker.core.passport.disclosures import parse_disclosure
from bpc_worker.core.passport.receipt import receipt_hash
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_text import parse_view
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.values import Fact
from tests.support.generated import LAW_DATE, SEED, inputs
from tests.support.passports import whole_view
from tests.support.proofs import EVERYTHING, FACTS, WORKED_CHECK

MADE = inputs(WORKED_CHECK, FACTS).compiled()


def compiled_with(source: str = WORKED_CHECK, facts: tuple[Fact, ...] = FACTS, **changes: Any) -> Any:
    given = inputs(source, FACTS)
    arguments: dict[str, Any] = {
        "snapshot": given.snapshot, "facts": facts, "rules": given.rules, "identity": given.identity,
        "salts": Salts(SEED),
    } | changes  # fmt: skip
    return evaluate_passport(**arguments)


def refused(**changes: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compiled_with(**changes)
    return caught.value


def test_the_payload_shows_the_worked_check() -> None:
    """75 kWh x 60 x 8 years = 36,000 kWh; 5,400 kg give 0.15 kgCO2e per kWh."""
    payload = json.loads(MADE.payload)

    assert payload["fields"] == {
        "energy": {"total": {"unit": "kWh", "value": "36000.0"}},
        "carbon": {
            "total": {"unit": "kgCO2e", "value": "5400"},
            "per_kwh": {"unit": "kgCO2e_per_kWh", "value": "0.15"},
            "low": True,
        },
    }
    assert payload["compliance"] == [
        {"code": "ART_7", "holds": True, "message": "low carbon", "severity": "warn"}
    ]


def test_the_payload_is_canonical_and_says_whose_it_is() -> None:
    payload = json.loads(MADE.payload)

    assert canonical_json.encode(payload) == MADE.payload
    assert set(payload) == {"schema", "salt", "passport_id", "battery_product_id", "fields", "compliance"}
    assert payload["schema"] == "BPC-PASSPORT-2"
    assert payload["salt"] == Salts(SEED).payload.hex()
    assert payload["passport_id"] == "00000000-0000-0000-0000-000000000002"
    assert payload["battery_product_id"] == "00000000-0000-0000-0000-000000000003"


def test_the_receipt_holds_the_hashes_of_what_was_made() -> None:
    given, receipt = inputs(WORKED_CHECK, FACTS), MADE.receipt

    assert receipt.payload_hash == sha256(MADE.payload)
    assert receipt.proof_root_hash.hex() == json.loads(MADE.proof)["root_hash"]
    assert receipt.fields_sha256 == sha256(MADE.evaluated.fields)
    assert receipt.issuer == "https://id.example.com"
    assert receipt.audiences == ("authorities", "commission", "legitimate_interest", "public")
    assert receipt.snapshot_hash == given.snapshot.snapshot_hash
    assert receipt.passport_version_id == version_id(given.identity, given.snapshot.snapshot_id)
    assert (receipt.law_date, receipt.compiler_build_id) == (LAW_DATE, "bpc-core-2")


def test_every_kind_of_value_has_a_place_in_the_payload() -> None:
    fields = json.loads(inputs(EVERYTHING, FACTS).compiled().payload)["fields"]

    assert fields["plain"] == {
        "absent": None,
        "date": "2026-11-30",
        "large": "27021597764222980",
        "map": {"L": 20, "M1": 60},
        "member": 1,
        "months": True,
        "new": True,
        "record": {"a": 1, "b": None},
        "text": "ACME",
        "texts": False,
    }
    assert fields["lists"]["cells"] == ["3.50", "1.25"]
    assert fields["secret"] == {"empty": "withheld", "reason": "until 2030"}


def test_the_disclosures_are_those_of_fields_and_statements_by_set() -> None:
    sets = [each["audiences"] for each in json.loads(MADE.evaluated.fields)]
    names = [parse_disclosure(text).name for text in MADE.evaluated.disclosures]

    assert sets == [["commission", "public"], ["public"]]
    assert names == [
        "of", "energy.total",
        "of", "carbon.low", "carbon.per_kwh", "carbon.total", "compliance.ART_7",
    ]  # fmt: skip


STATED = """
field a: Int = 5;
field s: Bool for authorities = if (field("a") > {}) then emitCompliance("HIGH", true, "m") else false;
field n: Int for nobody = 7;
field t: Bool for nobody = emitCompliance("KEPT", field("n") > 1, "kept from all") for nobody;
"""


def test_what_is_for_nobody_is_in_payload_and_proof_alone() -> None:
    made = inputs(STATED.format(9), ()).compiled()

    assert json.loads(made.payload)["fields"]["n"] == 7
    assert [each["code"] for each in json.loads(made.payload)["compliance"]] == ["KEPT"]
    assert '"audiences":["nobody"]' in made.proof.decode()
    assert [parse_disclosure(text).name for text in made.evaluated.disclosures] == ["of", "s", "of", "a"]


def test_a_statement_that_is_made_or_not_changes_nothing_for_the_public() -> None:
    views = [cut(whole_view(inputs(STATED.format(limit), ()).compiled()), "public") for limit in (1, 9)]
    told, silent = map(parse_view, views)

    assert len(views[0]) == len(views[1])
    assert [each.audiences for each in told.claims.sets] == [each.audiences for each in silent.claims.sets]
    assert len(told.disclosures) == len(silent.disclosures)


RESERVED = """
field supplier: Map(Text, Int) = t;
table t: Int = {{"{name}": 1}};
"""


@pytest.mark.parametrize("name", ["_sd", "_sd_alg", "..."])
def test_a_value_with_a_member_that_views_have_for_themselves_is_refused(name: str) -> None:
    with pytest.raises(CompileError) as caught:
        inputs(RESERVED.format(name=name), ()).compiled()

    assert caught.value.code == "VALIDATION_ERROR"
    assert caught.value.message == (
        f"the field supplier has a member {name!r}: a view has this name for itself"
    )


def test_such_a_member_is_found_at_any_depth_of_a_supplier_s_value() -> None:
    deep = "field a.b: Record(x: Record(_sd: Int)) = record(x: record(_sd: 1));"
    listed = 'field a.c: List(Map(Text, Int)) = map(getFactsByPrefix("Stage", "stage:"), s => t);'

    with pytest.raises(CompileError, match=r"the field a\.b has a member '_sd' at /x: "):
        inputs(deep, ()).compiled()
    with pytest.raises(CompileError, match=r"the field a\.c has a member '\.\.\.' at /2: "):
        inputs(listed + 'table t: Int = {"...": 1};', FACTS).compiled()


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_facts_and_of_their_members_does_not_matter(seed: int) -> None:
    dice = Random(seed)
    shuffled = [
        make_fact(each.fact_type, each.fact_key, dict(dice.sample(members, len(members))))
        for each in dice.sample(FACTS, len(FACTS))
        for members in [list(each.payload.items())]
    ]
    made = inputs(WORKED_CHECK, shuffled).compiled()

    assert (made.payload, made.proof, made.receipt) == (MADE.payload, MADE.proof, MADE.receipt)


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        (FACTS[1:], "Battery battery:X"),
        ((*FACTS, make_fact("Stage", "stage:4", {})), "Stage stage:4"),
        ((make_fact("Battery", "battery:X", {"years": 9}), *FACTS[1:]), "Battery battery:X"),
        ((*FACTS, FACTS[0]), "Battery battery:X"),
        ((), "Battery battery:X, Measured fade_pct, Stage stage:1, Stage stage:2, Stage stage:3"),
    ],
    ids=["one less", "one more", "another content", "one twice", "none"],
)
def test_the_facts_must_be_those_of_the_snapshot(facts: tuple[Fact, ...], named: str) -> None:
    error = refused(facts=facts)

    assert error.code == "SNAPSHOT_NOT_READY"
    assert str(error) == f"SNAPSHOT_NOT_READY: the facts are not the snapshot's: {named}"


def test_of_many_differing_facts_some_are_named() -> None:
    strangers = tuple(make_fact("Odd", f"odd:{number}", {}) for number in range(9))

    assert refused(facts=strangers).message.count(",") == 4


def test_a_fact_must_hold_what_its_hash_says() -> None:
    lying = Fact("Battery", "battery:X", FACTS[0].payload_hash, {**FACTS[0].payload, "years": 80})

    error = refused(facts=(lying, *FACTS[1:]))

    assert (error.code, error.message) == (
        "SNAPSHOT_NOT_READY",
        "fact Battery battery:X is not what its hash says",
    )


def test_a_fact_without_a_canonical_form_is_refused() -> None:
    odd = Fact("Battery", "battery:X", FACTS[0].payload_hash, {"years": 8.5})

    error = refused(facts=(odd, *FACTS[1:]))

    assert error.message.startswith("fact Battery battery:X: /years: only integers are allowed")


def test_another_build_cannot_be_asked_for() -> None:
    identity = replace(inputs(WORKED_CHECK, FACTS).identity, compiler_build_id="bpc-core-3")

    error = refused(identity=identity)

    assert error.code == "VALIDATION_ERROR"
    assert "bpc-core-3" in error.message


def test_rules_without_a_field_make_no_passport() -> None:
    error = refused(rules=load("table t: Int = {};"))

    assert (error.code, "no field" in error.message) == ("RULE_TYPE_ERROR", True)


@pytest.mark.parametrize(
    ("sizes", "code"), [(Sizes(payload=100), "PAYLOAD_TOO_LARGE"), (Sizes(proof=100), "PROOF_TOO_LARGE")]
)
def test_too_many_bytes_are_refused(sizes: Sizes, code: str) -> None:
    error = refused(sizes=sizes)

    assert error.code == code
    assert "the limit is 100" in error.message


def test_the_limits_of_the_rules_hold() -> None:
    with pytest.raises(RuleError, match="too many steps"):
        compiled_with(limits=Limits(steps=10))


def test_no_field_lies_inside_another() -> None:
    assert nested({"a.b": 1, "a.c.d": 2}) == {"a": {"b": 1, "c": {"d": 2}}}
    with pytest.raises(CompileError, match=r"a\.b lies inside another"):
        nested({"a": 1, "a.b": 2})


def test_the_receipt_is_the_same_whenever_it_is_made() -> None:
    again = inputs(WORKED_CHECK, FACTS).compiled()

    assert receipt_hash(again.receipt) == receipt_hash(MADE.receipt)
    assert again.evaluated == MADE.evaluated


def test_another_seed_leaves_no_hash_as_it_was() -> None:
    other = inputs(WORKED_CHECK, FACTS).compiled(seed=bytes(32))
    one, two = (
        {
            made.receipt.payload_hash, made.receipt.proof_root_hash, made.receipt.fields_sha256,
            receipt_hash(made.receipt), *made.evaluated.disclosures,
            *(each["_sd"][0] for each in json.loads(made.evaluated.fields)),
        }
        for made in (MADE, other)
    )  # fmt: skip

    assert one.isdisjoint(two)
