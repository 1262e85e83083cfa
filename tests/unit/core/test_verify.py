import copy
import json
import sys
from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any

import pytest

from bpc_worker.core import canonical_json, proof
from bpc_worker.core.hashing import sha256_hex
from bpc_worker.core.reaggregate import AGGREGATES
from bpc_worker.core.recompute import CHOICES
from bpc_worker.core.rules.evaluate import Statement
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.operations import OPERATIONS
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.values import Fact
from bpc_worker.core.verify import ProofError, verify_proof
from tests.support.generated import LAW_DATE, inputs, parts, rule_text
from tests.support.proofs import (
    EVERYTHING,
    FACTS,
    WORKED_CHECK,
    Document,
    appended,
    document,
    field,
    nodes,
    op,
    rehashed,
    removed,
    verified,
)

HONEST = document()
SMALL = document(WORKED_CHECK)
LEVELS = pytest.mark.parametrize("with_facts", [False, True], ids=["arithmetic", "full"])
ZEROS = "0" * 64

Forgery = Callable[[Document], object]


def refused(data: bytes, *, with_facts: bool) -> str:
    with pytest.raises(ProofError) as caught:
        verified(data, with_facts=with_facts)
    return str(caught.value)


def forged(change: Forgery, honest: Document = HONEST) -> bytes:
    """Changed, and hashed well again."""
    copied = copy.deepcopy(honest)
    change(copied)
    return rehashed(copied)


@LEVELS
def test_every_operation_of_the_language_verifies(with_facts: bool) -> None:
    used = {node["data"].get("op") for node in HONEST["nodes"]}
    kinds = {node["type"] for node in HONEST["nodes"]}

    found = verified(rehashed(copy.deepcopy(HONEST)), with_facts=with_facts)

    assert {*OPERATIONS, *CHOICES, *AGGREGATES, "field", "passport"} <= used
    assert kinds == proof.NODE_TYPES
    assert set(found.fields) == set(HONEST["field_index"])
    assert found.root_hash == HONEST["root_hash"]


@LEVELS
def test_the_worked_check_of_the_carbon_footprint(with_facts: bool) -> None:
    """75 kWh x 60 x 8 years = 36,000 kWh; 5,400 kg give 0.15 kgCO2e per kWh."""
    found = verified(rehashed(copy.deepcopy(SMALL)), with_facts=with_facts)

    forms = {path: each.form for path, each in found.fields.items()}
    assert forms["energy.total"] == {"qty": "36000.0", "unit": "kWh"}
    assert forms["carbon.total"] == {"qty": "5400", "unit": "kgCO2e"}
    assert forms["carbon.per_kwh"] == {"qty": "0.15", "unit": "kgCO2e_per_kWh"}
    assert found.fields["energy.total"].audiences == ("commission", "public")
    assert found.statements == (Statement("ART_7", holds=True, message="low carbon"),)


def change_result(name: str, result: Any) -> Forgery:
    """Another result of the operation, in it and wherever it went."""

    def change(doc: Document) -> None:
        former = op(doc, name)["data"]["result"]
        for node in nodes(doc, lambda data: canonical_json.encode(data.get("result")) == encoded(former)):
            node["data"]["result"] = result

    return change


def encoded(form: object) -> bytes:
    return canonical_json.encode(form)


def set_data(find: Callable[[Document], dict[str, Any]], **members: Any) -> Forgery:
    def change(doc: Document) -> None:
        find(doc)["data"].update(members)

    return change


def set_params(name: str, **params: Any) -> Forgery:
    def change(doc: Document) -> None:
        op(doc, name)["data"]["params"].update(params)

    return change


def set_children(find: Callable[[Document], dict[str, Any]], *children: int) -> Forgery:
    def change(doc: Document) -> None:
        find(doc)["children"] = list(children)

    return change


def of_kind(kind: str, **data: Any) -> Callable[[Document], dict[str, Any]]:
    """The first step of a kind whose data has these members."""

    def find(doc: Document) -> dict[str, Any]:
        return next(
            node
            for node in doc["nodes"]
            if node["type"] == kind and all(node["data"].get(key) == value for key, value in data.items())
        )

    return find


def the_op(name: str) -> Callable[[Document], dict[str, Any]]:
    return lambda doc: op(doc, name)


def the_field(path: str) -> Callable[[Document], dict[str, Any]]:
    return lambda doc: field(doc, path)


def swapped(name: str) -> Forgery:
    def change(doc: Document) -> None:
        op(doc, name)["children"].reverse()

    return change


def point_a_field_elsewhere(doc: Document) -> None:
    field(doc, "carbon.total")["children"][0] = field(doc, "energy.total")["children"][0]


def drop_an_assertion(doc: Document) -> None:
    """Its step stays, but the field no longer rests on it."""
    field(doc, "energy.total")["children"] = field(doc, "energy.total")["children"][:1]


def drop_a_statement(doc: Document) -> None:
    """It stays as the value of the field, but is no longer stated beside it."""
    field(doc, "carbon.low")["children"] = field(doc, "carbon.low")["children"][:1]


def state_the_contrary(doc: Document) -> None:
    for node in nodes(doc, lambda data: data.get("code") == "ART_7"):
        node["data"]["result"] = False
    field(doc, "carbon.low")["data"]["result"] = False


def take_the_other_branch(doc: Document) -> None:
    op(doc, "if")["data"]["params"]["branch"] = "else"


def drop_a_field(doc: Document) -> None:
    doc["nodes"][-1]["children"].remove(field(doc, "numbers.same")["id"])
    doc["nodes"][-1]["data"]["result"] -= 1
    del doc["field_index"]["numbers.same"]


def repeat_a_field(doc: Document) -> None:
    twin = field(doc, "numbers.same")
    appended(doc, "OP", copy.deepcopy(twin["data"]), *twin["children"][:1])


def add_a_field(path: str, **params: Any) -> Forgery:
    def change(doc: Document) -> None:
        one = next(node["id"] for node in doc["nodes"] if node["data"] == {"value": 1})
        given = {"path": path, "type": "Int", **params}
        added = appended(doc, "OP", {"op": "field", "params": given, "result": 1}, one)
        doc["field_index"][path] = added["id"]
        doc["nodes"][-1]["children"] = [doc["field_index"][each] for each in sorted(doc["field_index"])]
        doc["nodes"][-1]["data"]["result"] += 1

    return change


def add_a_step(kind: str, data: Any, *children: int) -> Forgery:
    def change(doc: Document) -> None:
        appended(doc, kind, data, *children)

    return change


def say_a_used_step_is_spare(doc: Document) -> None:
    field(doc, "numbers.same")["children"].append(0)


def say_a_field_is_spare(doc: Document) -> None:
    field(doc, "numbers.same")["children"].append(field(doc, "carbon.total")["id"])


def name_spare_before_stated(doc: Document) -> None:
    """Beside its value a field names what was stated first, then what was not used."""
    target = field(doc, "carbon.low")
    target["children"].insert(1, 0)


def compute_with_an_assertion(doc: Document) -> None:
    op(doc, "!")["children"] = [next(node["id"] for node in doc["nodes"] if node["type"] == "ASSERT")]


def same_table_twice(doc: Document) -> None:
    table = of_kind("CONST", table="cyclesPerYear")(doc)
    rows = {"map": {"L": 20, "M1": 61}}
    appended(doc, "CONST", {"table": "cyclesPerYear", "value": rows})
    assert table["data"]["value"] != rows


def answer_twice(name: str) -> Forgery:
    """The same question a second time, with another answer, and a field that rests on it."""

    def change(doc: Document) -> None:
        node = op(doc, name)
        data = {**copy.deepcopy(node["data"]), "result": {"json": "1"}}
        second = appended(doc, "OP", data, *node["children"])
        doc["nodes"][-1]["children"].append(second["id"])

    return change


def another_fact_of_the_name(doc: Document) -> None:
    """A fact that was found by a constant name, found by a computed one with another content."""
    by_name = next(node for node in doc["nodes"] if node["type"] == "FACT_GET" and node["children"])
    names = by_name["children"]
    data = {**by_name["data"], "payload_hash": ZEROS}
    appended(doc, "FACT_GET", data, *reversed(names))


def lambda_of(name: str) -> Callable[[Document], dict[str, Any]]:
    return the_op(name)


LAMBDA = 's => toQty(kgCO2e, requireSome(recordGet(s, "kg")))'
A_LIST = {"count": 3, "list": "ab" * 32}

FORGERIES: dict[str, Forgery] = {
    "another result, everywhere": change_result("round", {"qty": "0.16", "unit": "kgCO2e_per_kWh"}),
    "another result of a division": change_result("/", {"qty": "0.16", "unit": "kgCO2e_per_kWh"}),
    "another unit": change_result("round", {"qty": "0.15", "unit": "kWh"}),
    "an unknown unit": change_result("round", {"qty": "0.15", "unit": "furlong"}),
    "a result in another form": change_result("round", {"qty": "0.150", "unit": "kgCO2e_per_kWh"}),
    "an exponent": change_result("+", {"int": "27021597764222980E0"}),
    "a number as a text": change_result("count", "3"),
    "true for 1": set_data(of_kind("CONST", value=1), value=True),
    "one for true": set_data(the_op("isSome"), result=1),
    "swapped operands of -": swapped("-"),
    "swapped operands of /": swapped("/"),
    "swapped operands of <": swapped("<"),
    "swapped operands of if": swapped("if"),
    "a field of another value": point_a_field_elsewhere,
    "a dropped assertion": drop_an_assertion,
    "a dropped statement": drop_a_statement,
    "a statement turned round": state_the_contrary,
    "the other branch": take_the_other_branch,
    "a branch of another name": set_params("if", branch="maybe"),
    "a dropped field": drop_a_field,
    "a field twice": repeat_a_field,
    "a field that is an outer one": add_a_field("carbon"),
    "a field inside another": add_a_field("secret.inner"),
    "a path that is none": add_a_field("a..b"),
    "an inner type": add_a_field("zzz", type="Json"),
    "a wrong type": add_a_field("zzz", type="Text"),
    "a type that is none": add_a_field("zzz", type="Int "),
    "a list of audiences that says nothing": add_a_field("zzz", audiences=["public"]),
    "no audience": add_a_field("zzz", audiences=[]),
    "an unknown audience": add_a_field("zzz", audiences=["press"]),
    "audiences out of order": add_a_field("zzz", audiences=["public", "commission"]),
    "audiences that are no list": add_a_field("zzz", audiences="public"),
    "no citation": add_a_field("zzz", cites=[]),
    "a citation twice": add_a_field("zzz", cites=["a", "a"]),
    "a citation that is no text": add_a_field("zzz", cites=[1]),
    "an unknown parameter of a field": add_a_field("zzz", note="hello"),
    "a step that nothing rests on": add_a_step("CONST", {"value": 99}),
    "a used step said not to be used": say_a_used_step_is_spare,
    "a field said not to be used": say_a_field_is_spare,
    "what is beside a value out of order": name_spare_before_stated,
    "an assertion to compute with": compute_with_an_assertion,
    "another table of the same name": same_table_twice,
    "the same question with another answer": answer_twice("recordGet"),
    "two contents of one fact": another_fact_of_the_name,
    "a field without a value": set_children(the_field("numbers.same")),
    "a reference to another step": lambda doc: of_kind("FIELD_REF")(doc)["children"].__setitem__(0, 0),
    "a reference to an unknown field": set_data(of_kind("FIELD_REF"), path="nowhere"),
    "another value of a field": set_data(of_kind("FIELD_REF", path="lists.many"), result=4),
    "another law date": set_data(of_kind("CONST", law_date=True), value={"date": "2031-01-01"}),
    "a law date that is none": set_data(of_kind("CONST", law_date=True), law_date=1),
    "a constant that rests on something": set_children(of_kind("CONST", value=2), 0),
    "a constant of a fact": set_data(of_kind("CONST", value=2), value={"json": 2}),
    "a constant with a note": set_data(of_kind("CONST", value=2), note="two"),
    "a table that is none": set_data(of_kind("CONST", table="limits"), value=5),
    "a table without a name": set_data(of_kind("CONST", table="limits"), table="a b"),
    "a table of facts": set_data(of_kind("CONST", table="limits"), value={"map": {"a": {"json": 1}}}),
    "no condition of an assertion": set_children(of_kind("ASSERT")),
    "a condition that is no Bool": set_children(of_kind("ASSERT"), 1),
    "a failed assertion": set_data(of_kind("ASSERT"), result=False),
    "an assertion with a number for a code": set_data(of_kind("ASSERT"), code=5),
    "an assertion with a note": set_data(of_kind("ASSERT"), note=""),
    "an unknown operation": set_data(the_op("!"), op="not"),
    "an operation that is no text": set_data(the_op("!"), op=["!"]),
    "empty parameters": set_data(the_op("!"), params={}),
    "parameters that are no object": set_data(the_op("!"), params=[]),
    "parameters too many": set_data(the_op("!"), params={"unit": "kg"}),
    "a parameter too few": lambda doc: op(doc, "round")["data"].pop("params"),
    "an unknown mode of rounding": set_params("round", mode="half_odd"),
    "a scale without end": set_params("round", scale=10**9),
    "a scale that is a Bool": set_params("round", scale=True),
    "an operand too many": lambda doc: op(doc, "isSome")["children"].append(0),
    "an operand too few": set_children(the_op("+"), 0),
    "a value that is required and absent": lambda doc: set_children(
        the_op("requireSome"), of_kind("CONST", value=None)(doc)["id"]
    )(doc),
    "an and that went on": lambda doc: op(doc, "&&")["children"].insert(
        0, next(node["id"] for node in doc["nodes"] if node["data"].get("result") is False)
    ),
    "an and that ended early": lambda doc: op(doc, "&&")["children"].pop(),
    "an or of nothing": set_children(the_op("||")),
    "an or of numbers": set_children(the_op("||"), 2, 2),
    "an empty field of another kind": set_params("empty", kind="lost"),
    "an empty field for another reason": change_result("empty", {"empty": "withheld", "reason": "no"}),
    "an empty field for no reason": lambda doc: (
        set_data(of_kind("CONST", value="until 2030"), value=" ")(doc),
        change_result("empty", {"empty": "withheld", "reason": " "})(doc),
    ),
    "a message that is no text": set_params("requireSome", message=None),
    "another root": lambda doc: doc["nodes"][-1]["data"].update(result=1),
    "a root with parameters": lambda doc: doc["nodes"][-1]["data"].update(params={"a": 1}),
    "fields of the root out of order": lambda doc: doc["nodes"][-1]["children"].reverse(),
    "no root": lambda doc: doc["nodes"].pop(),
    "a type of step that is none": lambda doc: doc["nodes"][0].update(type="GUESS"),
    "another number": lambda doc: doc["nodes"][1].update(id=True),
    "a child that comes later": set_children(the_op("+"), 5000, 0),
    "a child that is a Bool": lambda doc: op(doc, "isSome").update(children=[False]),
    "a lambda of another text": set_params("map", **{"lambda": LAMBDA.replace("kgCO2e", "kg")}),
    "a lambda that names an unknown function": set_params("map", **{"lambda": "s => steal(s)"}),
    "a lambda with a second argument": set_params("map", **{"lambda": f"{LAMBDA}, t => t"}),
    "a lambda that closes the call": set_params("map", **{"lambda": f"{LAMBDA}) + f({LAMBDA}"}),
    "a lambda with something after it": set_params("map", **{"lambda": f"{LAMBDA} "}),
    "a lambda with a comment": set_params("map", **{"lambda": f"{LAMBDA} -- harmless\n"}),
    "a lambda of two": set_params("map", **{"lambda": "(a, s) => s"}),
    "a lambda that is a number": set_params("map", **{"lambda": 5}),
    "a lambda that takes something else": set_params("map", takes=[["t", "Fact"]]),
    "a lambda that takes another type": set_params("map", takes=[["s", "Json"]]),
    "a lambda that takes nothing": set_params("map", takes=[]),
    "a lambda whose parameters are no list": set_params("map", takes={}),
    "a lambda whose parameters are no pairs": set_params("map", takes=["s"]),
    "a lambda that uses what it does not": set_params("map", uses=[["t", "Int"]]),
    "a lambda of another type of numbers": set_params("fold", takes=[["sum", "Qty(t)"], ["s", "Fact"]]),
    "a filter that decides nothing": set_params("filter", **{"lambda": "s => 5"}),
    "too many operands of a sum": lambda doc: op(doc, "sumQty")["children"].append(0),
    "a sum of another unit": set_params("sumQty", unit="kg"),
    "a sum of no unit": set_params("sumQty", unit="furlong"),
    "a sum of another scale": set_params("sumDec", scale=3),
    "a sum of something else than a list": set_children(the_op("sumQty"), 0),
    "a count of something else than a list": set_children(the_op("count"), 0),
    "a count of another number": change_result("count", 4),
    "a fact by half a name": lambda doc: of_kind("FACT_GET")(doc)["data"].pop("fact_key"),
    "a fact by another name": set_children(of_kind("FACT_GET", prefix="stage:"), 0, 0),
    "a fact whose hash is none": set_data(of_kind("FACT_GET", fact_key="battery:X"), payload_hash="abc"),
    "a fact whose name is no text": set_data(of_kind("FACT_GET", fact_key="battery:X"), fact_key=5),
    "fewer than no facts": set_data(of_kind("FACT_GET", prefix="stage:"), count=-1),
    "a Bool of facts": set_data(of_kind("FACT_GET", prefix="stage:"), count=True),
    "no facts with a hash": set_data(of_kind("FACT_GET", prefix="stage:"), count=0),
    "some facts with the hash of none": set_data(of_kind("FACT_GET", fact_type="Nothing"), count=1),
    "a value that a fact cannot hold": change_result("recordGet", 8),
    "nothing, written as something": change_result("recordGet", {"json": None}),
    "a value of a record that is another": set_data(
        lambda doc: nodes(doc, lambda data: data.get("op") == "recordGet" and data["result"] == 1)[0], result=2
    ),
}


def capture_something_else(use: str, other: Callable[[Document], dict[str, Any]]) -> Forgery:
    """The lambda of the fold speaks of one thing, and is given another of the same type."""

    def change(doc: Document) -> None:
        fold = op(doc, "fold")
        names = [name for name, _ in fold["data"]["params"]["uses"]]
        fold["children"][2 + names.index(use)] = other(doc)["id"]

    return change


def result_of_a_list(name: str, **result: Any) -> Forgery:
    def change(doc: Document) -> None:
        op(doc, name)["data"]["result"].update(result)

    return change


FORGERIES |= {
    "another date for the law date": capture_something_else(
        "lawDate", of_kind("CONST", value={"date": "2030-01-01"})
    ),
    "another number for a field": capture_something_else("field lists.many", of_kind("CONST", value=2)),
    "another map for a table": capture_something_else(
        "table cyclesPerYear", of_kind("FIELD_REF", path="plain.record")
    ),
    "another type for a variable": capture_something_else("b", of_kind("CONST", value=2)),
    "a start of another type": lambda doc: op(doc, "fold")["children"].__setitem__(1, 0),
    "no start": lambda doc: op(doc, "fold")["children"].pop(1),
    "a map that makes more": result_of_a_list("map", count=4),
    "a map that makes none": result_of_a_list("map", count=0, list=sha256_hex(b"[]")),
    "a filter that keeps more": result_of_a_list("filter", count=4),
    "a filter that keeps others": result_of_a_list("filter", list="ab" * 32),
    "a filter whose list is none": result_of_a_list("filter", list="abc"),
    "a fold of another type": change_result("fold", {"qty": "1", "unit": "t"}),
    "a sum that is a fact": change_result("sumQty", {"fact": ["a", "b", ZEROS]}),
}


@LEVELS
@pytest.mark.parametrize("name", FORGERIES)
def test_a_proof_that_hashes_well_but_is_not_true_is_refused(name: str, with_facts: bool) -> None:
    message = refused(forged(FORGERIES[name]), with_facts=with_facts)

    assert "hash is" not in message


def another_value_in_a_fact(doc: Document) -> None:
    """Of the capacity, and of everything that comes of it: 76 kWh instead of 75."""
    larger = {"75.0": "76.0", "4500.0": "4560.0", "36000.0": "36480.0", "36480.0": "36480.0"}
    for node in doc["nodes"]:
        text = json.dumps(node["data"])
        for former, now in larger.items():
            text = text.replace(f'"{former}"', f'"{now}"')
        node["data"] = json.loads(text)
    for node in nodes(doc, lambda data: data.get("op") == "/"):
        node["data"]["result"]["qty"] = "0.14802631578947368421052631578947368421052631578947"


def another_sum_over_facts(doc: Document) -> None:
    """5,400 kg are said to be 5,040, and the result is the same when it is rounded: 0.14."""
    text = json.dumps(doc).replace('"5400"', '"5040"').replace('"0.15"', '"0.14"')
    doc.update(json.loads(text))


ATTESTED: dict[str, Forgery] = {
    "another value in a fact": another_value_in_a_fact,
    "another sum": another_sum_over_facts,
    "another fact": set_data(of_kind("FACT_GET", fact_key="battery:X"), payload_hash=ZEROS),
    "other facts": set_data(of_kind("FACT_GET", prefix="stage:"), list=ZEROS),
    "more facts": set_data(of_kind("FACT_GET", prefix="stage:"), count=3000),
}


@pytest.mark.parametrize("name", ["another value in a fact", "another sum"])
def test_what_only_the_facts_would_tell_is_attested_without_them(name: str) -> None:
    """The signature stands for it: whoever signed has seen the facts."""
    data = forged(ATTESTED[name], SMALL)

    assert verified(data, with_facts=False).root_hash != SMALL["root_hash"]


@pytest.mark.parametrize("name", ATTESTED)
def test_with_the_facts_nothing_is_taken_on_trust(name: str) -> None:
    assert "node" in refused(forged(ATTESTED[name], SMALL), with_facts=True)
