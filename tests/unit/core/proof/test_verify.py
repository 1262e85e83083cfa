import copy
import json
import sys
from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any

import pytest

from bpc_worker.core.base import canonical_json, derivation
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.proof.reaggregate import AGGREGATES
from bpc_worker.core.proof.recompute import CHOICES
from bpc_worker.core.proof.verify import ProofError, verify_proof
from bpc_worker.core.rules.evaluate import Statement
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.operations import OPERATIONS
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.values import Fact
from tests.support.generated import LAW_DATE, inputs, parts, rule_text
from tests.support.proofs import (
    FACTS,
    WORKED_CHECK,
    Document,
    appended,
    document,
    expanded,
    field,
    nodes,
    op,
    rehashed,
    removed,
    verified,
    written,
)

HONEST = document()
SMALL = document(WORKED_CHECK)
WRITTEN: Document = json.loads(rehashed(copy.deepcopy(SMALL)))
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
def test_every_operation_of_the_language_verifies(*, with_facts: bool) -> None:
    used = {node["data"].get("op") for node in HONEST["nodes"]}
    kinds = {node["type"] for node in HONEST["nodes"]}

    found = verified(rehashed(copy.deepcopy(HONEST)), with_facts=with_facts)

    assert {*OPERATIONS, *CHOICES, *AGGREGATES, "missingRequired", "field", "passport"} <= used
    assert kinds == derivation.NODE_TYPES
    assert set(found.fields) == set(HONEST["field_index"])
    assert found.root_hash == HONEST["root_hash"]


@LEVELS
def test_the_worked_check_of_the_carbon_footprint(*, with_facts: bool) -> None:
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


def of_kind(kind: str, /, **data: Any) -> Callable[[Document], dict[str, Any]]:
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
    field(doc, "energy.total")["children"][0] = field(doc, "carbon.total")["children"][0]


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


def say_the_value_is_spare(doc: Document) -> None:
    target = field(doc, "numbers.same")
    target["children"] = [target["children"][0]] * 2


def state_twice(doc: Document) -> None:
    """Once more under the same name, of another condition."""
    stated = next(node for node in doc["nodes"] if node["type"] == "COMPLIANCE_EMIT")
    other = next(node for node in doc["nodes"] if node["data"].get("result") is False)
    appended(doc, "COMPLIANCE_EMIT", {**stated["data"], "result": False}, other["id"])


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


def by_computed_name(doc: Document) -> dict[str, Any]:
    return next(node for node in doc["nodes"] if node["type"] == "FACT_GET" and node["children"])


def another_fact_of_the_name(doc: Document) -> None:
    """A fact that was found by a computed name, found by a constant one with another content."""
    appended(doc, "FACT_GET", {**by_computed_name(doc)["data"], "payload_hash": ZEROS})


def swap_the_names_of_a_fact(doc: Document) -> None:
    by_computed_name(doc)["children"].reverse()


def over(name: str, result: Any, kind: str, /, **data: Any) -> Forgery:
    """One more step, over the first that has such data."""

    def change(doc: Document) -> None:
        step = {"op": name, "result": result}
        params = {"requireSome": {"message": ""}}.get(name)
        appended(
            doc,
            "OP",
            step if params is None else {**step, "params": params},
            of_kind(kind, **data)(doc)["id"],
        )

    return change


def lambda_of(name: str) -> Callable[[Document], dict[str, Any]]:
    return the_op(name)


LAMBDA = 's => toQty(kgCO2e, requireSome(recordGet(s, "kg")))'
A_LIST = {"count": 3, "list": "ab" * 32}

MASS = {"as": "declared kg", "fact_key": "composition.mass_kg"}
NOT_THERE = {"as": "declared Int", "fact_key": "absent"}


def at_list(doc: Document, name: str) -> dict[str, Any]:
    """The step over a list of what stands in facts."""
    return nodes(doc, lambda data: data.get("op") == name and data["result"]["count"] == 3)[0]


def result_of_a_list(name: str, **result: Any) -> Forgery:
    def change(doc: Document) -> None:
        op(doc, name)["data"]["result"].update(result)

    return change


# name: (why it is refused, how it is made)
FORGERIES: dict[str, tuple[str, Forgery]] = {
    "another result, everywhere": (
        "the result of '/'",
        change_result("round", {"qty": "0.16", "unit": "kgCO2e_per_kWh"}),
    ),
    "another result of a division": (
        "the result of '/'",
        change_result("/", {"qty": "0.16", "unit": "kgCO2e_per_kWh"}),
    ),
    "another unit": ("the result of '/'", change_result("round", {"qty": "0.15", "unit": "kWh"})),
    "an unknown unit": ("the result of '/'", change_result("round", {"qty": "0.15", "unit": "furlong"})),
    "a result in another form": (
        "the result of '/'",
        change_result("round", {"qty": "0.150", "unit": "kgCO2e_per_kWh"}),
    ),
    "an exponent": ("the result of '-'", change_result("-", {"int": "27021597764222980E0"})),
    "a number as a text": ("the result of 'count'", change_result("count", "3")),
    "true for 1": (
        "RULE_TYPE_ERROR: a comparison does not take bool and int",
        set_data(of_kind("CONST", value=1), value=True),
    ),
    "one for true": ("the result of 'isSome'", set_data(the_op("isSome"), result=1)),
    "swapped operands of -": ("the result of '-'", swapped("-")),
    "swapped operands of /": ("UNIT_MISMATCH: '/' does not fit kWh and kgCO2e", swapped("/")),
    "swapped operands of <": ("the result of '<'", swapped("<")),
    "swapped operands of if": ("which is no Bool", swapped("if")),
    "a field of another value": ("the value of field energy.total", point_a_field_elsewhere),
    "a dropped assertion": ("nothing rests on step", drop_an_assertion),
    "a dropped statement": ("no field names the statement", drop_a_statement),
    "a statement turned round": ("its condition", state_the_contrary),
    "the other branch": ("the branch", take_the_other_branch),
    "a branch of another name": ("the branch", set_params("if", branch="maybe")),
    "a dropped field": ("the root", drop_a_field),
    "a field twice": ("the same step is there already", repeat_a_field),
    "a field that is an outer one": (
        "the field carbon is another one, or one lies inside the other",
        add_a_field("carbon"),
    ),
    "a field inside another": (
        "the field secret.inner is another one",
        add_a_field("secret.inner"),
    ),
    "a path that is none": ("'a..b' is no path", add_a_field("a..b")),
    "an inner type": ("RULE_TYPE_ERROR: this is not the text of a type", add_a_field("zzz", type="Json")),
    "a wrong type": ("the value of field zzz is no Text", add_a_field("zzz", type="Text")),
    "a type that is none": (
        "RULE_TYPE_ERROR: this is not the text of a type",
        add_a_field("zzz", type="Int "),
    ),
    "a list of audiences that says nothing": (
        "['public'] are no audiences",
        add_a_field("zzz", audiences=["public"]),
    ),
    "no audience": ("audiences: [] is no list of texts", add_a_field("zzz", audiences=[])),
    "an unknown audience": ("['press'] are no audiences", add_a_field("zzz", audiences=["press"])),
    "audiences out of order": (
        "['public', 'commission'] are no audiences",
        add_a_field("zzz", audiences=["public", "commission"]),
    ),
    "audiences that are no list": (
        "audiences: 'public' is no list of texts",
        add_a_field("zzz", audiences="public"),
    ),
    "no citation": ("cites: [] is no list of texts", add_a_field("zzz", cites=[])),
    "a citation twice": ("something is cited twice", add_a_field("zzz", cites=["a", "a"])),
    "a citation that is no text": ("1 is not a text", add_a_field("zzz", cites=[1])),
    "an unknown parameter of a field": ("expected path, type,", add_a_field("zzz", note="hello")),
    "a step that nothing rests on": ("nothing rests on step", add_a_step("CONST", {"value": 99})),
    "a used step said not to be used": ("is used, and said not to be", say_a_used_step_is_spare),
    "a field said not to be used": ("gives no value to compute with", say_a_field_is_spare),
    "what is beside a value out of order": (
        "what the field carbon.low rests on beside its value is out o",
        name_spare_before_stated,
    ),
    "an assertion to compute with": ("gives no value to compute with", compute_with_an_assertion),
    "another table of the same name": ("the same step is there already", same_table_twice),
    "the same question with another answer": ("the same step is there already", answer_twice("recordGet")),
    "two contents of one fact": ("the same fact before", another_fact_of_the_name),
    "a value said not to be used": ("is used, and said not to be", say_the_value_is_spare),
    "two statements of one code": ("two statements 'ART_7'", state_twice),
    "a path without end": ("is no path", add_a_field(".".join("a" * 65))),
    "a field without a value": (
        "the field numbers.same rests on nothing",
        set_children(the_field("numbers.same")),
    ),
    "a reference to another step": (
        "no field 'carbon.total' at step [0]",
        lambda doc: of_kind("FIELD_REF")(doc)["children"].__setitem__(0, 0),
    ),
    "a reference to an unknown field": (
        "no field 'nowhere' at step [3]",
        set_data(of_kind("FIELD_REF"), path="nowhere"),
    ),
    "another value of a field": (
        "the value of field lists.many",
        set_data(of_kind("FIELD_REF", path="lists.many"), result=4),
    ),
    "another law date": (
        "the law date",
        set_data(of_kind("CONST", law_date=True), value={"date": "2031-01-01"}),
    ),
    "a law date that is none": ("law_date", set_data(of_kind("CONST", law_date=True), law_date=1)),
    "a constant that rests on something": (
        "a constant rests on nothing",
        set_children(of_kind("CONST", value=2), 0),
    ),
    "a constant of a fact": (
        "{'json': 2} is not the form of a value",
        set_data(of_kind("CONST", value=2), value={"json": 2}),
    ),
    "a constant with a note": ("expected value,", set_data(of_kind("CONST", value=2), note="two")),
    "a table that is none": ("'limits' is no table", set_data(of_kind("CONST", table="limits"), value=5)),
    "a table without a name": ("'a b' is no table", set_data(of_kind("CONST", table="limits"), table="a b")),
    "a table of facts": (
        "{'json': 1} is not the form of a value",
        set_data(of_kind("CONST", table="limits"), value={"map": {"a": {"json": 1}}}),
    ),
    "no condition of an assertion": ("it rests on one condition, a Bool", set_children(of_kind("ASSERT"))),
    "a condition that is no Bool": ("it rests on one condition, a Bool", set_children(of_kind("ASSERT"), 1)),
    "a failed assertion": ("its condition", set_data(of_kind("ASSERT"), result=False)),
    "an assertion with a number for a code": ("5 is not a text", set_data(of_kind("ASSERT"), code=5)),
    "an assertion with a note": ("expected code, message, result,", set_data(of_kind("ASSERT"), note="")),
    "an unknown operation": (
        "RULE_TYPE_ERROR: unknown operation not with []",
        set_data(the_op("!"), op="not"),
    ),
    "an operation that is no text": ("['!'] is not a text", set_data(the_op("!"), op=["!"])),
    "empty parameters": (
        "params is an object, and left out where there are none",
        set_data(the_op("!"), params={}),
    ),
    "parameters that are no object": (
        "params is an object, and left out where there are none",
        set_data(the_op("!"), params=[]),
    ),
    "parameters too many": (
        "RULE_TYPE_ERROR: unknown operation ! with ['unit']",
        set_data(the_op("!"), params={"unit": "kg"}),
    ),
    "a parameter too few": (
        "RULE_TYPE_ERROR: unknown operation round with []",
        lambda doc: op(doc, "round")["data"].pop("params"),
    ),
    "an unknown mode of rounding": ("RULE_TYPE_ERROR: an unknown mode", set_params("round", mode="half_odd")),
    "a scale without end": (
        "RULE_TYPE_ERROR: a scale is a whole number from 0 to 30",
        set_params("round", scale=10**9),
    ),
    "a scale that is a Bool": (
        "RULE_TYPE_ERROR: a scale is a whole number from 0 to 30",
        set_params("round", scale=True),
    ),
    "an operand too many": ("isSome of 2 values, not 1", lambda doc: op(doc, "isSome")["children"].append(0)),
    "an operand too few": ("'+' of something that cannot be seen", set_children(the_op("+"), 0)),
    "a value that is required and absent": (
        "a value that is required is absent",
        over("requireSome", None, "CONST", value=None),
    ),
    "an and that went on": (
        "&& ended before it was decided, or after that",
        lambda doc: op(doc, "&&")["children"].insert(
            0, next(node["id"] for node in doc["nodes"] if node["data"].get("result") is False)
        ),
    ),
    "an and that ended early": (
        "&& ended before it was decided, or after that",
        over("&&", True, "OP", op="isSome", result=True),
    ),
    "an or of nothing": ("|| ended before it was decided, or after that", set_children(the_op("||"))),
    "an or of numbers": ("which is no Bool", set_children(the_op("||"), 2, 2)),
    "an empty field of another kind": (
        "a field that is 'lost' for 'not asked yet'",
        set_params("empty", kind="lost"),
    ),
    "an empty field for another reason": (
        "the result of 'empty'",
        change_result("empty", {"empty": "withheld", "reason": "no"}),
    ),
    "an empty field for no reason": (
        "a field that is 'notYet' for ' '",
        set_params("empty", reason=" "),
    ),
    "an empty field with a detail that is no text": (
        "is not a text",
        lambda doc: op(doc, "empty").update(children=[of_kind("FACT_GET", fact_key="fade_pct")(doc)["id"]]),
    ),
    "an empty field with two details": (
        "empty of 1 values, not 0",
        lambda doc: op(doc, "empty")["children"].append(op(doc, "empty")["children"][0]),
    ),
    "a value that is usable, and is not used": (
        "a value that is usable ends no field",
        lambda doc: appended(
            doc,
            "OP",
            {"op": "unusable", "result": op(doc, "unusable")["data"]["result"]},
            of_kind("OP", result=True)(doc)["id"],
            of_kind("CONST", value="not below one")(doc)["id"],
        ),
    ),
    "a field that ended, and goes on": (
        "'isSome' of a field that has ended",
        lambda doc: op(doc, "isSome").update(children=[of_kind("FACT_GET", **NOT_THERE)(doc)["id"]]),
    ),
    "a reading that is none": ("reads no fact", set_data(of_kind("FACT_GET", **MASS), **{"as": "taken kg"})),
    "a reading of no unit": ("reads no fact", set_data(of_kind("FACT_GET", **MASS), **{"as": "declared st"})),
    "a reading with a note": ("reads no fact", set_data(of_kind("FACT_GET", **MASS), note="")),
    "a reading by a computed name": (
        "reads no fact",
        lambda doc: of_kind("FACT_GET", **MASS)(doc).update(children=[0]),
    ),
    "a reading of another type of facts": (
        "the type of the fact",
        set_data(of_kind("FACT_GET", **MASS), fact_type="Measured"),
    ),
    "a reading of another unit": (
        "is no Qty(kg)",
        set_data(of_kind("FACT_GET", **MASS), result={"qty": "400.5", "unit": "g"}),
    ),
    "a value of a fact that is absent": (
        "the value of fact Value absent",
        set_data(of_kind("FACT_GET", **NOT_THERE), result=5),
    ),
    "another reason why a fact is absent": (
        "the value of fact Value absent",
        set_data(of_kind("FACT_GET", **NOT_THERE), result={"empty": "withheld", "reason": "not declared"}),
    ),
    "a fact that is there, and not declared": (
        "a fact that is there, and",
        set_data(of_kind("FACT_GET", **MASS), result={"empty": "missing", "reason": "not declared"}),
    ),
    "a value that is not usable, and no detail": (
        "a fact that is there, and",
        set_data(
            of_kind("FACT_GET", **MASS), result={"empty": "missing", "reason": "declared, but not usable"}
        ),
    ),
    "a detail that is no text": (
        "beside a reason",
        set_data(of_kind("FACT_GET", **MASS), result={"empty": "missing", "reason": "x", "detail": 5}),
    ),
    "two values of one fact": (
        "the same fact before",
        lambda doc: appended(
            doc,
            "FACT_GET",
            {
                **of_kind("FACT_GET", **MASS)(doc)["data"],
                "as": "given kg",
                "result": {"qty": "5", "unit": "kg"},
            },
        ),
    ),
    "a month in another form": (
        "is not the form of a value",
        set_data(of_kind("FACT_GET", fact_key="identity.month"), result={"month": "2027-2"}),
    ),
    "another severity": ("'fatal' is no severity", set_data(of_kind("COMPLIANCE_EMIT"), severity="fatal")),
    "no severity": (
        "None is not a text",
        lambda doc: of_kind("COMPLIANCE_EMIT")(doc)["data"].pop("severity"),
    ),
    "half a draft": ("draft: found 1", set_data(of_kind("CONST", table="grades"), draft=1)),
    "fewer points that are missing": (
        "the number of points that are missing",
        set_data(the_op("missingRequired"), result=1),
    ),
    "missing points of another day": (
        "it rests on the law date, and on fields",
        lambda doc: op(doc, "missingRequired")["children"].__setitem__(
            0, of_kind("CONST", value={"qty": "0", "unit": "kg"})(doc)["id"]
        ),
    ),
    "missing points of no day": (
        "it rests on the law date, and on fields",
        set_children(the_op("missingRequired")),
    ),
    "missing points of something else": (
        "it rests on the law date, and on fields",
        lambda doc: op(doc, "missingRequired")["children"].__setitem__(1, 0),
    ),
    "missing points of other fields": (
        "the fields of the points",
        lambda doc: op(doc, "missingRequired")["children"].pop(),
    ),
    "points that are none": ("are no points", set_params("missingRequired", asked=[])),
    "a point without fields": ("are no fields of a point", set_params("missingRequired", asked={"P": []})),
    "a point of a field": ("are no fields of a point", set_params("missingRequired", asked={"P": "a"})),
    "a point of a number": ("5 is not a text", set_params("missingRequired", asked={"P": [5]})),
    "a law without a name": ("None is not a text", set_params("missingRequired", law=None)),
    "a law with a note": ("missingRequired with the parameters", set_params("missingRequired", note="")),
    "distinct of facts": (
        "distinct of what cannot be told apart",
        lambda doc: at_list(doc, "distinct").update(
            children=[of_kind("FACT_GET", prefix="stage:")(doc)["id"]]
        ),
    ),
    "distinct of nothing": (
        "distinct of what cannot be told apart",
        lambda doc: at_list(doc, "distinct").update(children=[]),
    ),
    "distinct that makes more": (
        "distinct makes 4 items of 3",
        lambda doc: at_list(doc, "distinct")["data"]["result"].update(count=4),
    ),
    "sums that make none": (
        "sumBy makes 0 items of 3",
        result_of_a_list("sumBy", count=0, list=sha256_hex(b"[]")),
    ),
    "sums of another unit": ("the list is no List(Record(key:", set_params("sumBy", unit="g")),
    "a message that is no text": ("None is not a text", set_params("requireSome", message=None)),
    "another root": ("the root", lambda doc: doc["nodes"][-1]["data"].update(result=1)),
    "a root with parameters": (
        "expected op, result, salt",
        lambda doc: doc["nodes"][-1]["data"].update(params={"a": 1}),
    ),
    "a root without a salt": ("expected op, result, salt", lambda doc: doc["nodes"][-1]["data"].pop("salt")),
    "a root with a short salt": ("expected a salt", lambda doc: doc["nodes"][-1]["data"].update(salt="00")),
    "fields of the root out of order": ("the root", lambda doc: doc["nodes"][-1]["children"].reverse()),
    "no root": ("the last step is not the root", lambda doc: doc["nodes"].pop()),
    "a type of step that is none": ("unknown type 'GUESS'", lambda doc: doc["nodes"][0].update(type="GUESS")),
    "a child that comes later": ("children come before their parent", set_children(the_op("+"), 5000, 0)),
    "a child that is a Bool": (
        "children come before their parent",
        lambda doc: op(doc, "isSome").update(children=[False]),
    ),
    "a lambda of another text": (
        "the list is no List(Qty(kgCO2e))",
        set_params("map", **{"lambda": LAMBDA.replace("kgCO2e", "kg")}),
    ),
    "a lambda that names an unknown function": (
        "RULE_TYPE_ERROR: unknown function 'steal'",
        set_params("map", **{"lambda": "s => steal(s)"}),
    ),
    "a lambda with a second argument": (
        "RULE_PARSE_ERROR: this is not a lambda",
        set_params("map", **{"lambda": f"{LAMBDA}, t => t"}),
    ),
    "a lambda that closes the call": (
        "RULE_PARSE_ERROR: this is not a lambda",
        set_params("map", **{"lambda": f"{LAMBDA}) + f({LAMBDA}"}),
    ),
    "a lambda with something after it": (
        "RULE_TYPE_ERROR: the lambda takes or uses other values than",
        set_params("map", **{"lambda": f"{LAMBDA} "}),
    ),
    "a lambda with a comment": (
        "RULE_TYPE_ERROR: the lambda takes or uses other values than",
        set_params("map", **{"lambda": f"{LAMBDA} -- harmless\n"}),
    ),
    "a lambda of two": (
        "RULE_TYPE_ERROR: the lambda of a map takes 1 values",
        set_params("map", **{"lambda": "(a, s) => s"}),
    ),
    "a lambda that is a number": (
        "RULE_PARSE_ERROR: this is not a lambda",
        set_params("map", **{"lambda": 5}),
    ),
    "a lambda that takes something else": (
        "RULE_TYPE_ERROR: the lambda takes or uses other values than",
        set_params("map", takes=[["t", "Fact"]]),
    ),
    "a lambda that takes another type": (
        "the list is no List(Json)",
        set_params("map", takes=[["s", "Json"]]),
    ),
    "a lambda that takes nothing": (
        "RULE_TYPE_ERROR: the lambda of a map takes 1 values",
        set_params("map", takes=[]),
    ),
    "a lambda whose parameters are no list": (
        "RULE_TYPE_ERROR: the lambda's 'takes' is no list of names an",
        set_params("map", takes={}),
    ),
    "a lambda whose parameters are no pairs": (
        "RULE_TYPE_ERROR: the lambda's 'takes' is no list of names an",
        set_params("map", takes=["s"]),
    ),
    "a lambda that uses what it does not": (
        "RULE_TYPE_ERROR: the lambda takes or uses other values than",
        set_params("map", uses=[["t", "Int"]]),
    ),
    "a lambda of another type of numbers": (
        "UNIT_MISMATCH: '+' does not fit Qty(t) and Qty(kg)",
        set_params("fold", takes=[["sum", "Qty(t)"], ["s", "Fact"]]),
    ),
    "a filter that decides nothing": (
        "RULE_TYPE_ERROR: the lambda gives Int, not Bool",
        set_params("filter", **{"lambda": "s => 5"}),
    ),
    "too many operands of a sum": (
        "sumQty of 2 values, not 1",
        lambda doc: op(doc, "sumQty")["children"].append(0),
    ),
    "a sum of another unit": ("the list is no List(Qty(kg))", set_params("sumQty", unit="kg")),
    "a sum of no unit": ("RULE_TYPE_ERROR: an unknown unit", set_params("sumQty", unit="furlong")),
    "a sum of another scale": ("the list is no List(Dec(3))", set_params("sumDec", scale=3)),
    "a sum of something else than a list": (
        "the list is no List(Qty(kgCO2e))",
        set_children(the_op("sumQty"), 0),
    ),
    "a count of something else than a list": (
        "count of something that is no list",
        over("count", 1, "CONST", value=1),
    ),
    "a count of a fact": (
        "count of something that is no list",
        over("count", 1, "FACT_GET", fact_key="battery:X"),
    ),
    "a count of another number": ("the result of 'count'", change_result("count", 4)),
    "a fact by half a name": (
        "['fact_type', 'payload_hash'] name no fact",
        lambda doc: of_kind("FACT_GET", fact_key="battery:X")(doc)["data"].pop("fact_key"),
    ),
    "a fact by another name": ("the name of a fact", swap_the_names_of_a_fact),
    "a fact whose hash is none": (
        "'abc' is not a hash",
        set_data(of_kind("FACT_GET", fact_key="battery:X"), payload_hash="abc"),
    ),
    "a fact whose name is no text": (
        "5 is not a text",
        set_data(of_kind("FACT_GET", fact_key="battery:X"), fact_key=5),
    ),
    "fewer than no facts": ("a list of -1 items", set_data(of_kind("FACT_GET", prefix="stage:"), count=-1)),
    "a Bool of facts": ("a list of True items", set_data(of_kind("FACT_GET", prefix="stage:"), count=True)),
    "no facts with a hash": (
        "is not that of a list of 0",
        set_data(of_kind("FACT_GET", prefix="stage:"), count=0),
    ),
    "some facts with the hash of none": (
        "is not that of a list of 1",
        set_data(of_kind("FACT_GET", fact_type="Nothing"), count=1),
    ),
    "a value that a fact cannot hold": ("8 is no Opt(Json)", change_result("recordGet", 8)),
    "nothing, written as something": (
        "recordGet gives none where there is nothing",
        change_result("recordGet", {"json": None}),
    ),
    "a value of a record that is another": (
        "the result of 'recordGet'",
        set_data(
            lambda doc: nodes(doc, lambda data: data.get("op") == "recordGet" and data["result"] == 1)[0],
            result=2,
        ),
    ),
}


def capture_something_else(use: str, other: Callable[[Document], dict[str, Any]]) -> Forgery:
    """The lambda of the fold speaks of one thing, and is given another of the same type."""

    def change(doc: Document) -> None:
        fold = op(doc, "fold")
        names = [name for name, _ in fold["data"]["params"]["uses"]]
        children = list(fold["children"])
        children[2 + names.index(use)] = other(doc)["id"]
        appended(doc, "OP", copy.deepcopy(fold["data"]), *children)

    return change


FORGERIES |= {
    "another date for the law date": (
        "the lambda uses lawDate, and is given something else",
        capture_something_else("lawDate", of_kind("CONST", value={"date": "2030-01-01"})),
    ),
    "another number for a field": (
        "the lambda uses field lists.many, and is given something els",
        capture_something_else("field lists.many", of_kind("CONST", value=2)),
    ),
    "another map for a table": (
        "the lambda uses table cyclesPerYear, and is given something",
        capture_something_else("table cyclesPerYear", of_kind("CONST", table="limits")),
    ),
    "another type for a variable": ("b is no Fact", capture_something_else("b", of_kind("CONST", value=2))),
    "a start of another type": (
        "the start is no Qty(kg)",
        lambda doc: op(doc, "fold")["children"].__setitem__(1, 0),
    ),
    "no start": ("fold of 6 values, not 7", lambda doc: op(doc, "fold")["children"].pop(1)),
    "a map that makes more": ("map makes 4 items of 3", result_of_a_list("map", count=4)),
    "a map that makes none": (
        "map makes 0 items of 3",
        result_of_a_list("map", count=0, list=sha256_hex(b"[]")),
    ),
    "a filter that keeps more": ("filter keeps 4 items of 3, or others", result_of_a_list("filter", count=4)),
    "a filter that keeps others": (
        "filter keeps 3 items of 3, or others",
        result_of_a_list("filter", list="ab" * 32),
    ),
    "a filter whose list is none": ("'abc' is not a hash", result_of_a_list("filter", list="abc")),
    "a fold of another type": ("is no Qty(kg)", change_result("fold", {"qty": "1", "unit": "t"})),
    "a sum that is a fact": ("is no Qty(kgCO2e)", change_result("sumQty", {"fact": ["a", "b", ZEROS]})),
}


@LEVELS
@pytest.mark.parametrize("name", FORGERIES)
def test_a_proof_that_hashes_well_but_is_not_true_is_refused(name: str, *, with_facts: bool) -> None:
    reason, change = FORGERIES[name]

    message = refused(forged(change), with_facts=with_facts)

    assert with_facts or reason in message


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
    "another lambda": set_params("map", **{"lambda": LAMBDA.replace('kg"', 'mass"')}),
}


@pytest.mark.parametrize("name", ["another value in a fact", "another sum", "another lambda"])
def test_what_only_the_facts_would_tell_is_attested_without_them(name: str) -> None:
    """The signature stands for it: whoever signed has seen the facts."""
    data = forged(ATTESTED[name], SMALL)

    assert verified(data, with_facts=False).root_hash != SMALL["root_hash"]


@pytest.mark.parametrize("name", ATTESTED)
def test_with_the_facts_nothing_is_taken_on_trust(name: str) -> None:
    assert "node" in refused(forged(ATTESTED[name], SMALL), with_facts=True)


def raw(doc: Any) -> bytes:
    return canonical_json.encode(doc)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not canonical JSON"),
        (b"{}", "expected an object with field_index, nodes, proof_version, root_hash"),
        (b"[]", "expected an object"),
        (raw({**WRITTEN, "note": 1}), "expected an object"),
        (raw({**WRITTEN, "proof_version": "BPC-PROOF-1"}), "proof_version: expected BPC-PROOF-2"),
        (raw({**WRITTEN, "nodes": []}), "nodes: expected a list of 1 to 200000 steps"),
        (raw({**WRITTEN, "nodes": {}}), "nodes: expected a list"),
        (raw({**WRITTEN, "nodes": [None]}), "node 0: expected a list of type, data and perhaps children"),
        (raw({**WRITTEN, "nodes": [["OP"]]}), "node 0: expected a list of type, data and perhaps children"),
        (raw({**WRITTEN, "nodes": [["OP", {}, [], 1]]}), "node 0: expected a list of type, data and"),
        (raw({**WRITTEN, "nodes": [[["OP"], {}]]}), "node 0: the type is a text"),
        (raw({**WRITTEN, "nodes": [["GUESS", {}]]}), "node 0: unknown type 'GUESS'"),
        (raw({**WRITTEN, "nodes": [["OP", []]]}), "node 0: data is no object"),
        (raw({**WRITTEN, "nodes": [["OP", {}, {}]]}), "node 0: children are a list, left out where"),
        (raw({**WRITTEN, "nodes": [["OP", {}, []]]}), "node 0: children are a list, left out where"),
        (raw({**WRITTEN, "nodes": [["CONST", {"value": 1}], ["OP", {}, [True]]]}), "node 1: children come"),
        (raw({**WRITTEN, "nodes": [["CONST", {"value": 1}], ["OP", {}, [1]]]}), "node 1: children come"),
        (raw({**WRITTEN, "nodes": [["CONST", {"value": 1}], ["OP", {}, [-1]]]}), "node 1: children come"),
        (
            raw({**WRITTEN, "nodes": [["CONST", {"value": 1}], ["OP", {"op": "field", "result": 1}, [0]]]}),
            "node 1: a result that follows from another step is not written",
        ),
        (raw({**WRITTEN, "root_hash": ZEROS}), "the proof: root_hash: found"),
        (raw({**WRITTEN, "field_index": {}}), "the proof: field_index: found"),
        (json.dumps(WRITTEN).encode(), "not canonical JSON"),
    ],
)
def test_a_document_that_is_no_proof_is_refused(data: bytes, message: str) -> None:
    assert message in refused(data, with_facts=False)


def test_true_is_not_1_in_the_index_of_fields() -> None:
    doc = document("field a: Int = 5;")
    assert doc["field_index"] == {"a": 1}

    assert "field_index" in refused(written({**doc, "field_index": {"a": True}}), with_facts=False)


@pytest.mark.unmeasured
def test_every_flipped_byte_is_noticed() -> None:
    data = bytearray(rehashed(copy.deepcopy(SMALL)))
    dice = Random(1)
    for place in range(0, len(data), 7):
        flip = 1 << dice.randrange(8)
        data[place] ^= flip
        refused(bytes(data), with_facts=False)
        data[place] ^= flip


def test_a_removed_step_is_noticed_even_if_all_others_are_numbered_and_hashed_anew() -> None:
    for number in range(len(SMALL["nodes"])):
        doc = copy.deepcopy(SMALL)
        removed(doc, doc["nodes"][number])

        refused(rehashed(doc), with_facts=False)


@LEVELS
def test_what_is_withheld_is_bound_to_its_field(*, with_facts: bool) -> None:
    """The value behind a withheld field stays in the proof, and the root's hash covers it."""
    honest = rehashed(copy.deepcopy(HONEST))
    found = verified(honest, with_facts=with_facts)
    kept = {"qty": "10800", "unit": "kgCO2e"}
    [step] = nodes(HONEST, lambda data: data.get("result") == kept)

    assert found.fields["secret"].form == {"empty": "withheld", "reason": "until 2030"}
    assert step["id"] in field(HONEST, "secret")["children"]
    assert "the result of" in refused(forged(change_result_at(step["id"])), with_facts=with_facts)


def change_result_at(number: int) -> Forgery:
    return lambda doc: doc["nodes"][number]["data"].update(result={"qty": "1", "unit": "kgCO2e"})


@pytest.mark.parametrize("value", [None, "none", {"date": "2027-02-18"}])
def test_a_law_date_is_the_one_that_applies(value: Any) -> None:
    data = forged(set_data(of_kind("CONST", law_date=True), value=value))

    with pytest.raises(ProofError, match="a law date, where none applies"):
        verify_proof(data, law_date=None)
    with pytest.raises(ProofError, match="the law date: found"):
        verify_proof(data, law_date=date(2027, 2, 19))


def test_a_fact_is_not_trusted_about_its_own_hash() -> None:
    honest = FACTS[0]
    lying = Fact(honest.fact_type, honest.fact_key, honest.payload_hash, {**honest.payload, "years": 80})

    message = refused_with(FactSet([lying, *FACTS[1:]]))

    assert f"the hash of fact Battery battery:X: found '{honest.payload_hash}'" in message


def test_a_fact_that_has_no_canonical_form_is_refused() -> None:
    odd = Fact("Battery", "battery:X", FACTS[0].payload_hash, {"years": 8.5})

    assert "only integers are allowed" in refused_with(FactSet([odd, *FACTS[1:]]))


def refused_with(facts: FactSet) -> str:
    with pytest.raises(ProofError) as caught:
        verify_proof(rehashed(copy.deepcopy(HONEST)), law_date=LAW_DATE, facts=facts)
    return str(caught.value)


def test_a_fact_that_was_absent_must_still_be_absent() -> None:
    doc = document('field a: Bool = isSome(getFact("New", "one"));', ())
    data = rehashed(doc)

    assert verify_proof(data, law_date=LAW_DATE, facts=FactSet([])).fields["a"].form is False
    with pytest.raises(ProofError, match="the hash of fact New one: found None"):
        verify_proof(data, law_date=LAW_DATE, facts=FactSet([make_fact("New", "one", {})]))


def test_all_steps_of_a_proof_share_one_limit() -> None:
    """Each sum alone is within the limit, and there are fifty of them."""
    sums = "".join(
        f'field f{number}: Int = count(filter(getFactsByPrefix("Part", "part:"), p =>'
        f' toQty(kg, requireSome(recordGet(p, "kg"))) > qty({number}, kg)));'
        for number in range(50)
    )
    facts = parts(50)
    data = inputs(sums, facts).compiled().proof

    verify_proof(data, law_date=LAW_DATE, facts=FactSet(facts))
    with pytest.raises(ProofError, match="RULE_LIMIT_EXCEEDED: the evaluation takes too many steps"):
        verify_proof(data, law_date=LAW_DATE, facts=FactSet(facts), limits=Limits(steps=5_000))


def test_lambdas_inside_lambdas_end_at_the_limit() -> None:
    """A lambda cannot go on for ever, but lists inside lists come close."""
    source = (
        'field a: Int = let l = getFactsByPrefix("Part", "");'
        " fold(l, 0, (a, x) => fold(l, a, (b, y) => fold(l, b, (c, z) => c + 1)));"
    )
    facts = parts(20)
    data = inputs(source, facts).compiled().proof
    longer = expanded(data)

    assert verify_proof(data, law_date=LAW_DATE, facts=FactSet(facts)).fields["a"].form == 8000
    with pytest.raises(ProofError, match="too many steps"):
        verify_proof(
            rehashed(longer), law_date=LAW_DATE, facts=FactSet(parts(20)), limits=Limits(steps=10_000)
        )


def test_a_proof_of_too_many_steps_is_refused_before_anything_is_computed() -> None:
    with pytest.raises(ProofError, match="nodes: expected a list of 1 to 10 steps"):
        verify_proof(rehashed(copy.deepcopy(SMALL)), law_date=LAW_DATE, limits=Limits(nodes=10))


def test_the_end_of_the_stack_is_an_error_like_others() -> None:
    data = rehashed(copy.deepcopy(SMALL))

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            verify_proof(data, law_date=LAW_DATE)

    frames, frame = 0, sys._getframe()
    while (below := frame.f_back) is not None:
        frame, frames = below, frames + 1
    messages = []
    for left in range(4, 70):
        try:
            deep(sys.getrecursionlimit() - frames - left)
        except (ProofError, RecursionError) as error:  # the latter where not even the call was possible
            messages.append(str(error))

    assert "the proof: called too deep inside another program" in messages
    assert any("RULE_LIMIT_EXCEEDED: called too deep" in message for message in messages)


MUTATIONS: list[Any] = [
    None, True, False, 0, 1, -1, 2**53 - 1, "", "a", "1", "1.0", "kWh", "then", "x => x", [], {},
    {"dec": "1.50"}, {"dec": "NaN"}, {"dec": "01.5"}, {"dec": "1E3"}, {"dec": "-0"}, {"dec": "9" * 5000},
    {"qty": "1", "unit": "kWh"}, {"qty": "1E3", "unit": "kWh"}, {"qty": "1", "unit": "zz"}, {"int": "5"},
    {"int": "9" * 1200}, {"date": "20270101"}, {"json": None}, {"json": {"a": [1]}}, {"map": {"a": {}}},
    {"fact": ["a", "b", "c"]}, {"count": 0, "list": ZEROS}, {"count": 1, "list": ZEROS}, {"map": {}},
    {"empty": "missing", "reason": "x"}, {"empty": "notYet", "reason": "x", "detail": "y"}, {"texts": {}},
    {"month": "2027-02"}, {"moment": "2027-02-18T12:00:00Z"}, {"moment": "x"}, {"texts": {"en": "x"}},
    ["a", "Int"], [["x", "Fact"]], [["s", "Fact"]], "9" * 5000,
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def mutated(doc: Document, dice: Random) -> None:
    """Some part of some step is another value, gone, or taken from elsewhere in the proof."""
    node = dice.choice(doc["nodes"])
    target = node if dice.random() < 0.3 or not isinstance(node[1], dict) else node[1]
    *outer, last = dice.choice(places(target)[1:] or [(0,)])
    for key in outer:
        target = target[key]
    if dice.random() < 0.2 and isinstance(target, dict):
        target.pop(last, None)
    elif dice.random() < 0.3:
        target[last] = copy.deepcopy(dice.choice(dice.choice(doc["nodes"])))
    else:
        target[last] = copy.deepcopy(dice.choice(MUTATIONS))


@pytest.mark.unmeasured
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_changed_the_answer_is_a_proof_or_an_error_of_proofs(seed: int) -> None:
    dice = Random(seed)
    for _ in range(60):
        doc = json.loads(rehashed(copy.deepcopy(HONEST)))
        for _ in range(dice.choice([1, 1, 2, 4])):
            mutated(doc, dice)
        data = raw(doc)
        for facts in (None, FactSet(FACTS)):
            try:
                verify_proof(data, law_date=LAW_DATE, facts=facts)
            except ProofError as error:
                assert error.place  # noqa: PT017 - either way is fine


def test_a_90_field_passport_over_200_facts_has_a_proof_of_half_the_limit() -> None:
    facts = parts(200)
    made = inputs(rule_text(90, 200), facts).compiled()

    found = verify_proof(made.proof, law_date=LAW_DATE, facts=FactSet(facts))

    assert len(found.fields) == 90
    assert len(made.proof) <= 131_072


@pytest.mark.unmeasured
def test_over_10_000_facts_it_still_fits_and_verifies_in_full() -> None:
    facts = parts(10_000)
    made = inputs(rule_text(90, 10_000), facts).compiled()

    found = verify_proof(made.proof, law_date=LAW_DATE, facts=FactSet(facts))

    assert len(found.fields) == 90
    assert len(made.proof) <= 262_144
