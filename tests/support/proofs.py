"""Proofs to be tampered with: a rule text that uses the whole language, and hashes made good again."""

import json
from collections.abc import Callable
from typing import Any

from bpc_worker.core.base import canonical_json, derivation, proof_text
from bpc_worker.core.base.proof_text import Step
from bpc_worker.core.proof.verify import VerifiedProof, verify_proof
from bpc_worker.core.rules.facts import FactSet, make_fact
from tests.support.generated import LAW_DATE, inputs

FACTS = (
    make_fact(
        "Battery",
        "battery:X",
        {
            "usable_kwh": "75.0",
            "years": 8,
            "category": "M1",
            "new": True,
            "made": "2026-11-30",
            "cells": ["3.5", "1.25"],
            "maker": {"name": "ACME"},
            "stage": "stage:2",
        },
    ),
    make_fact("Stage", "stage:1", {"kg": "1500"}),
    make_fact("Stage", "stage:2", {"kg": "3000"}),
    make_fact("Stage", "stage:3", {"kg": "900"}),
    make_fact("Value", "composition.mass_kg", {"value": "400.5"}),
    make_fact("Value", "identity.class", {"value": "M1"}),
    make_fact("Value", "identity.month", {"value": "2027-02"}),
    make_fact("Value", "agent", {"value": {"en": "water", "de": "Wasser"}}),
    make_fact(
        "Measured", "fade_pct", {"value": "1.5", "measured_at": "2028-01-01T00:00:00Z", "source": "BMS"}
    ),
)

WORKED_CHECK = """
table cyclesPerYear: Int = {"M1": 60, "L": 20};
field energy.total: Qty(kWh) for public, commission =
  cite("Annex II");
  let b = requireSome(getFact("Battery", "battery:X"));
  let years = toInt(requireSome(recordGet(b, "years")));
  assert(years > 0, "YEARS", "a warranty has years");
  toQty(kWh, requireSome(recordGet(b, "usable_kwh")))
    * requireSome(lookup(cyclesPerYear, toText(requireSome(recordGet(b, "category"))))) * years;
field carbon.total: Qty(kgCO2e) =
  sumQty(map(getFactsByPrefix("Stage", "stage:"), s => toQty(kgCO2e, requireSome(recordGet(s, "kg")))));
field carbon.per_kwh: Qty(kgCO2e_per_kWh) =
  round(half_even, 2, field("carbon.total") / field("energy.total"));
field carbon.low: Bool =
  emitCompliance("ART_7", field("carbon.per_kwh") < qty(1, kgCO2e_per_kWh), "low carbon");
"""

EVERYTHING = (
    WORKED_CHECK
    + """
table limits: Record(max: Dec(1), since: Opt(Date)) = {"M1": record(max: 1.5, since: date("2026-01-01"))};
field plain.text: Text = toText(requireSome(recordGet(requireSome(recordGet(
  requireSome(getFact("Battery", "battery:X")), "maker")), "name")));
field plain.date: Date = toDate(requireSome(recordGet(requireSome(getFact("Battery", "battery:X")), "made")));
field plain.new: Bool = toBool(requireSome(recordGet(requireSome(getFact("Battery", "battery:X")), "new")));
field plain.absent: Opt(Int) = none;
field plain.large: Int = 9007199254740993 * 3 - -1 + 0;
field plain.record: Record(a: Int, b: Opt(Text)) = record(a: 1, b: none);
field plain.member: Int = recordGet(field("plain.record"), "a");
field plain.map: Map(Text, Int) = cyclesPerYear;
field secret: Text for authorities =
  let kept = field("carbon.total") * 2;
  if (lawDate() < date("2030-01-01") && isSome(getFact("Battery", "battery:X")))
    then withheld("until 2030") else "5";
field read.secret: Bool = isSome(field("secret")) || unwrapOr(field("secret"), "") != "";
field lists.cells: List(Dec(2)) = let b = requireSome(getFact("Battery", "battery:X"));
  map(toList(requireSome(recordGet(b, "cells"))), c => toDec(2, c));
field lists.sum: Dec(2) = sumDec(field("lists.cells"));
field lists.many: Int = count(field("lists.cells")) + count(getFactsByPrefix("Stage", "stage:"));
field lists.heavy: Int = count(filter(getFactsByPrefix("Stage", "stage:"),
  s => toQty(kg, requireSome(recordGet(s, "kg"))) >= toQty(kg, requireSome(recordGet(s, "kg")))));
field lists.none: Qty(kg) = sumQty(map(getFactsByPrefix("Nothing", ""), s => qty(1, kg)));
field lists.fold: Qty(kg) = let start = qty(0, kg); let b = requireSome(getFact("Battery", "battery:X"));
  fold(getFactsByPrefix("Stage", "stage:"), start, (sum, s) =>
    if (isSome(recordGet(b, "nothing")) || lawDate() > date("2030-01-01")) then sum
    else sum + toQty(kg, requireSome(recordGet(s, "kg")))
      * requireSome(lookup(cyclesPerYear, "L")) - convert(kg, qty(1, t)) + start
      + qty(0.0, kg) * field("lists.many"));
field numbers.kg: Qty(kg) = convert(kg, qty(1.5, t)) * toDec(1, "2.5");
field numbers.share: Qty(pct) = percent(field("carbon.total"), qty(7000, kgCO2e));
field numbers.most: Dec(2) = max(1.25, min(2.50, round(ceiling, 2, -(10 / 3))));
field numbers.same: Bool = !(1.50 == 1.50) || 1 != 2 && 1 <= 2 && 2 >= 1 && 2 > 1;
field numbers.taken: Opt(Dec(1)) = let row = requireSome(lookup(limits, "M1")); recordGet(row, "max");
field named.stage: Qty(kg) =
  let key = toText(requireSome(recordGet(requireSome(getFact("Battery", "battery:X")), "stage")));
  toQty(kg, requireSome(recordGet(requireSome(getFact("Stage", key)), "kg")));
field named.stages: Int = let key = toText(requireSome(recordGet(
  requireSome(getFact("Battery", "battery:X")), "stage"))); count(getFactsByPrefix("Stage", key));
law "a list" by law.class {
  act later "an act" pending;
  point "P-1" "usable" fields (declared.mass, declared.wrong) source "s" basis law gate stop for public {
    M1: not until 2027-02-18 then required when light || !cells;
    L: not;
  };
  point "P-2" "absent" fields (declared.absent) source "s" basis law gate stop for public {
    M1: required;
    L: not_yet until max(2028-08-18, later + 24 months) then required;
  };
  point "P-3" "there" fields (declared.mass) source "s" basis law gate stop for public {
    M1: required;
    L: not;
  };
}
draft table grades: Text = {"b": "B", "a": "A"};
field law.class: Text = declared(Text, "identity.class");
field condition.light: Bool = declared(Bool, "light");
field condition.cells: Bool = unwrapOr(given(Bool, "cells"), false);
field declared.mass: Qty(kg) =
  let mass = declared(kg, "composition.mass_kg"); usable(mass > qty(0, kg), "not above zero"); mass;
field declared.low: Qty(kg) =
  let mass = declared(kg, "composition.mass_kg"); usable(mass < qty(1, kg), "not below one"); mass;
field declared.wrong: Month = declared(Month, "composition.mass_kg");
field declared.absent: Int = declared(Int, "absent");
field declared.later: Int = notYet("not asked yet", "no act");
field declared.month: Month = declared(Month, "identity.month");
field declared.agent: Texts = declared(Texts, "agent");
field declared.fade: Record(measured_at: Moment, source: Text, value: Qty(pct)) = measured(pct, "fade_pct");
field declared.power: Opt(Record(measured_at: Moment, source: Text, value: Qty(W))) =
  lastMeasured(W, "power_w");
field read.month: Month =
  toMonth(requireSome(recordGet(requireSome(getFact("Value", "identity.month")), "value")));
field read.agent: Texts = toTexts(requireSome(recordGet(requireSome(getFact("Value", "agent")), "value")));
field read.at: Moment =
  toMoment(requireSome(recordGet(requireSome(getFact("Measured", "fade_pct")), "measured_at")));
field plain.months: Bool = monthOf(addMonths(lawDate(), 1)) > month("2027-02");
field plain.texts: Bool =
  texts("en": "x") == texts("en": "y") || moment("2027-02-18T12:00:00Z") == field("read.at");
field lists.keys: List(Text) = distinct(keysOf(grades));
field lists.kinds: List(Text) =
  distinct(map(getFactsByPrefix("Stage", "stage:"), s => toText(requireSome(recordGet(s, "kg")))));
field lists.by_kg: List(Record(key: Text, sum: Qty(kg))) =
  sumBy(getFactsByPrefix("Stage", "stage:"), s => toText(requireSome(recordGet(s, "kg"))),
    s => toQty(kg, requireSome(recordGet(s, "kg"))));
field completeness.missing: Int = missingRequired();
field completeness.waits: Bool = pending("P-2");
"""
)

Document = dict[str, Any]
Node = dict[str, Any]


def document(source: str = EVERYTHING, facts: Any = FACTS) -> Document:
    """The proof of a rule text, with its steps in full: number, type, data, children and hash."""
    return expanded(inputs(source, facts).compiled().proof)


def expanded(proof: bytes) -> Document:
    decoded: Document = json.loads(proof)
    steps = [
        {"id": number, "type": step.type, "data": step.data, "children": list(step.children), "hash": ""}
        for number, step in enumerate(proof_text.read(decoded["nodes"]))
    ]
    return hashed({**decoded, "nodes": steps})


def nodes(forged: Document, test: Callable[[Any], object]) -> list[Node]:
    """The steps whose data passes the test."""
    return [node for node in forged["nodes"] if test(node["data"])]


def op(forged: Document, name: str) -> Node:
    """The first step of an operation."""
    return nodes(forged, lambda data: data.get("op") == name)[0]


def field(forged: Document, path: str) -> Node:
    return nodes(forged, lambda data: data.get("op") == "field" and data["params"]["path"] == path)[0]


def appended(forged: Document, kind: str, data: Any, *children: int) -> Node:
    """A new step before the root."""
    root = forged["nodes"].pop()
    node = {"id": root["id"], "type": kind, "data": data, "children": list(children), "hash": ""}
    forged["nodes"] += [node, {**root, "id": root["id"] + 1}]
    return node


def removed(forged: Document, gone: Node) -> None:
    """Without one step; the others are numbered anew."""
    forged["nodes"].remove(gone)
    for node in forged["nodes"]:
        node["children"] = [child - (child > gone["id"]) for child in node["children"] if child != gone["id"]]
        node["id"] -= node["id"] > gone["id"]
    forged["field_index"] = {
        path: number - (number > gone["id"])
        for path, number in forged["field_index"].items()
        if number != gone["id"]
    }


def rehashed(forged: Document) -> bytes:
    """The proof's bytes, with the hashes that its content gives."""
    return written(hashed(forged))


def written(doc: Document) -> bytes:
    steps = [Step(node["type"], node["data"], tuple(node["children"])) for node in doc["nodes"]]
    return canonical_json.encode({**doc, "nodes": proof_text.write(steps)})


def hashed(forged: Document) -> Document:
    hashes: dict[int, str] = {}
    for node in forged["nodes"]:
        below = [hashes.get(child, "") for child in node["children"]]
        node["hash"] = derivation.node_hash(
            node["id"], node["type"], derivation.data_bytes(node["data"]), below
        )
        hashes[node["id"]] = node["hash"]
    forged["root_hash"] = forged["nodes"][-1]["hash"]
    return forged


def verified(data: bytes, *, with_facts: bool, facts: Any = FACTS) -> VerifiedProof:
    return verify_proof(data, law_date=LAW_DATE, facts=FactSet(facts) if with_facts else None)
