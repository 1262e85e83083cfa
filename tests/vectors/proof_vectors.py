"""Golden vectors of BPC-PROOF-2 and BPC-PASSPORT-2: derivations written by hand, step by step.

Nothing here reads a rule text. Each example holds one, and the steps that it must give are spelled out in
the order in which an evaluation takes them; the results were worked out on paper.
"""

import hashlib
import hmac
import json
from typing import Any

Step = dict[str, Any]
Steps = list[tuple[str, Step, list[int]]]

PASSPORT_ID, PRODUCT_ID = "5aa51574-544e-590a-b499-3201a6471cba", "6fc694cf-0d81-586c-b399-23507f7402ca"

SEED = bytes(range(32))  # what the salts of these examples are made from


def canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def salt(name: str) -> str:
    return hmac.digest(SEED, f"\0{name}".encode(), "sha256")[:16].hex()


def fact(fact_type: str, fact_key: str, payload: Step) -> Step:
    return {"fact_type": fact_type, "fact_key": fact_key, "payload": payload}


def listed(facts: list[Step]) -> Step:
    """The form of a list of facts, in the order of their keys."""
    forms = [{"fact": [each["fact_type"], each["fact_key"], digest(each["payload"])]} for each in facts]
    return {"count": len(forms), "list": digest(forms)}


def op(name: str, result: object, /, **params: object) -> Step:
    return {"op": name, "result": result, **({"params": params} if params else {})}


def qty(number: str, unit: str) -> Step:
    return {"qty": number, "unit": unit}


def proof(steps: Steps, fields: dict[str, int]) -> dict[str, str]:
    """The document, with the root added: its children are the fields in the order of their paths."""
    paths = sorted(fields, key=str.encode)
    data: Step = {**op("passport", len(paths)), "salt": salt("proof")}
    root: tuple[str, Step, list[int]] = ("OP", data, [fields[path] for path in paths])
    nodes: list[Step] = []
    for number, (kind, data, children) in enumerate([*steps, root]):
        below = [nodes[child]["hash"] for child in children]
        hashed = digest({"id": number, "type": kind, "data": data, "children_hashes": below})
        nodes.append({"id": number, "type": kind, "hash": hashed, "data": data, "children": children})
    document = {
        "proof_version": "BPC-PROOF-2",
        "root_hash": nodes[-1]["hash"],
        "nodes": [short(node, nodes) for node in nodes],
        "field_index": fields,
    }
    return {"proof": canonical(document).decode(), "root_hash": nodes[-1]["hash"]}


def short(node: Step, nodes: list[Step]) -> list[Any]:
    """As it is written: without number, hash and a result that an operand's step has already."""
    data = dict(node["data"])
    passed_on = {"field": 0, "if": 1, "requireSome": 0}.get(data.get("op", ""))
    if passed_on is not None:
        below = nodes[node["children"][passed_on]]["data"]
        if data["result"] in [below[name] for name in ("result", "value") if name in below]:
            del data["result"]
    return [node["type"], data, *([node["children"]] if node["children"] else [])]


def payload(fields: Step, *statements: Step) -> dict[str, str]:
    data = canonical(
        {
            "schema": "BPC-PASSPORT-2",
            "salt": salt("payload"),
            "passport_id": PASSPORT_ID,
            "battery_product_id": PRODUCT_ID,
            "fields": fields,
            "compliance": list(statements),
        }
    )
    return {"payload": data.decode(), "payload_sha256": hashlib.sha256(data).hexdigest()}


def vector(description: str, rules: list[str], facts: list[Step], expected: dict[str, str]) -> Step:
    given = {
        "rules": "\n".join(rules),
        "facts": facts,
        "law_date": "2027-02-18",
        "passport_id": PASSPORT_ID,
        "battery_product_id": PRODUCT_ID,
        "seed": SEED.hex(),
    }
    return {"description": description, "input": given, "expected": expected}


BATTERY = fact("Battery", "battery:X", {"usable_kwh": "75.0", "years": 8})
STAGES = [fact("Stage", f"stage:{number}", {"kg": kg}) for number, kg in enumerate(["1500", "3000", "900"])]


def product() -> Step:
    """75.0 kWh x 60 x 8: one fact, two constants, one field."""
    rules = [
        "field energy.total: Qty(kWh) for public, commission =",
        '  cite("Annex II");',
        '  let b = requireSome(getFact("Battery", "battery:X"), "no battery");',
        '  toQty(kWh, requireSome(recordGet(b, "usable_kwh"))) * 60 * 8;',
    ]
    payload_hash = digest(BATTERY["payload"])
    found = {"fact": ["Battery", "battery:X", payload_hash]}
    energy = qty("36000.0", "kWh")
    bound = op(
        "field", energy, path="energy.total", type="Qty(kWh)", audiences=["commission", "public"],
        cites=["Annex II"],
    )  # fmt: skip
    names = {"fact_type": "Battery", "fact_key": "battery:X"}
    steps: Steps = [
        ("FACT_GET", {**names, "payload_hash": payload_hash}, []),
        ("OP", op("requireSome", found, message="no battery"), [0]),
        ("OP", op("recordGet", {"json": "75.0"}, name="usable_kwh"), [1]),
        ("OP", op("requireSome", {"json": "75.0"}, message=""), [2]),
        ("OP", op("toQty", qty("75.0", "kWh"), unit="kWh"), [3]),
        ("CONST", {"value": 60}, []),
        ("OP", op("*", qty("4500.0", "kWh")), [4, 5]),
        ("CONST", {"value": 8}, []),
        ("OP", op("*", energy), [6, 7]),
        ("OP", bound, [8]),
    ]
    shown = payload({"energy": {"total": {"value": "36000.0", "unit": "kWh"}}})
    return vector(
        "the example of docs/formats.md: constants, a fact, a product, a field, the root",
        rules, [BATTERY], {**proof(steps, {"energy.total": 9}), **shown},
    )  # fmt: skip


def sum_of_facts() -> Step:
    """1500 + 3000 + 900 = 5400 kg over three facts, by one step for the map and one for the sum."""
    text = 's => toQty(kgCO2e, requireSome(recordGet(s, "kg")))'
    rules = [
        "field carbon.total: Qty(kgCO2e) =",
        f'  sumQty(map(getFactsByPrefix("Stage", "stage:"), {text}));',
    ]
    masses = [qty(each["payload"]["kg"], "kgCO2e") for each in STAGES]
    total = qty("5400", "kgCO2e")
    mapped = op(
        "map", {"count": 3, "list": digest(masses)}, takes=[["s", "Fact"]], uses=[], **{"lambda": text}
    )
    steps: Steps = [
        ("FACT_GET", {"fact_type": "Stage", "prefix": "stage:", **listed(STAGES)}, []),
        ("OP", mapped, [0]),
        ("OP", op("sumQty", total, unit="kgCO2e"), [1]),
        ("OP", op("field", total, path="carbon.total", type="Qty(kgCO2e)"), [2]),
    ]
    shown = payload({"carbon": {"total": {"value": "5400", "unit": "kgCO2e"}}})
    return vector(
        "an aggregate over three facts", rules, STAGES, {**proof(steps, {"carbon.total": 3}), **shown}
    )


def withheld() -> Step:
    """A table, an assertion, a statement, the law date, and a value that is computed and then withheld."""
    rules = [
        'table perYear: Int = {"M1": 60, "L": 20};',
        "field a.cycles: Int =",
        '  let cycles = requireSome(lookup(perYear, "M1")) * 8;',
        '  assert(cycles > 0, "CYCLES", "there are cycles");',
        "  let kept = cycles + 1;",
        '  if (lawDate() < date("2030-01-01")) then withheld("until 2030") else kept;',
        'field b.known: Bool = emitCompliance("KNOWN", isSome(field("a.cycles")), "shown");',
    ]
    empty = {"empty": "withheld", "reason": "until 2030"}
    yes, no = True, False
    steps: Steps = [
        ("CONST", {"table": "perYear", "value": {"map": {"L": 20, "M1": 60}}}, []),
        ("CONST", {"value": "M1"}, []),
        ("OP", op("lookup", 60), [0, 1]),
        ("OP", op("requireSome", 60, message=""), [2]),
        ("CONST", {"value": 8}, []),
        ("OP", op("*", 480), [3, 4]),
        ("CONST", {"value": 0}, []),
        ("OP", op(">", yes), [5, 6]),
        ("ASSERT", {"code": "CYCLES", "message": "there are cycles", "result": yes}, [7]),
        ("CONST", {"value": 1}, []),
        ("OP", op("+", 481), [5, 9]),
        ("CONST", {"law_date": yes, "value": {"date": "2027-02-18"}}, []),
        ("CONST", {"value": {"date": "2030-01-01"}}, []),
        ("OP", op("<", yes), [11, 12]),
        ("OP", op("empty", empty, kind="withheld", reason="until 2030"), []),
        ("OP", op("if", empty, branch="then"), [13, 14]),
        ("OP", op("field", empty, path="a.cycles", type="Int"), [15, 8, 10]),  # 481 was not used
        ("FIELD_REF", {"path": "a.cycles", "result": None}, [16]),
        ("OP", op("isSome", no), [17]),
        ("COMPLIANCE_EMIT", {"code": "KNOWN", "message": "shown", "result": no, "severity": "warn"}, [18]),
        ("OP", op("field", no, path="b.known", type="Bool"), [19, 19]),  # its value, and a statement
    ]
    stated = {"code": "KNOWN", "holds": no, "message": "shown", "severity": "warn"}
    shown = payload({"a": {"cycles": empty}, "b": {"known": no}}, stated)
    fields = {"a.cycles": 16, "b.known": 20}
    return vector(
        "a table, an assertion, a statement, an empty field and a value that is withheld",
        rules, [], {**proof(steps, fields), **shown},
    )  # fmt: skip


def declared() -> Step:
    """Values of the vocabulary: one that is used, one not usable, one absent, one not yet asked."""
    rules = [
        'law "a list" by a.class {',
        '  point "P-1" "mass" fields (b.mass) source "s" basis law gate stop for public { EV: required; };',
        '  point "P-2" "low" fields (b.low) source "s" basis law gate stop for public { EV: required; };',
        '  point "P-3" "gone" fields (b.gone) source "s" basis law gate stop for public { EV: not; };',
        "}",
        'field a.class: Text = declared(Text, "class");',
        'field b.gone: Int = declared(Int, "gone");',
        "field b.low: Qty(kg) =",
        '  let mass = declared(kg, "mass_kg"); usable(mass < qty(1, kg), "not below one"); mass;',
        "field b.mass: Qty(kg) =",
        '  let mass = declared(kg, "mass_kg"); usable(mass > qty(1, kg), "not above one"); mass;',
        'field b.month: Month = declared(Month, "mass_kg");',
        'field c.later: Int = notYet("not asked yet", "no act");',
        "field d.missing: Int = missingRequired();",
    ]
    facts = [fact("Value", "class", {"value": "EV"}), fact("Value", "mass_kg", {"value": "400.5"})]

    def read(how: str, key: str, result: object) -> Step:
        found = [digest(each["payload"]) for each in facts if each["fact_key"] == key]
        names = {"fact_type": "Value", "fact_key": key}
        return {"as": how, **names, "payload_hash": found[0] if found else None, "result": result}

    def missing(reason: str, **detail: str) -> Step:
        return {"empty": "missing", "reason": reason, **detail}

    gone, unusable, mass = missing("not declared"), "declared, but not usable", qty("400.5", "kg")
    low = missing(unusable, detail="not below one")
    no_month = missing(unusable, detail="Value mass_kg: toMonth: the text is no month")
    later = {"empty": "notYet", "reason": "not asked yet", "detail": "no act"}
    asked = {"P-1": ["b.mass"], "P-2": ["b.low"]}
    steps: Steps = [
        ("FACT_GET", read("declared Text", "class", "EV"), []),
        ("OP", op("field", "EV", path="a.class", type="Text"), [0]),
        ("FACT_GET", read("declared Int", "gone", gone), []),
        ("OP", op("field", gone, path="b.gone", type="Int"), [2]),
        ("FACT_GET", read("declared kg", "mass_kg", mass), []),
        ("CONST", {"value": qty("1", "kg")}, []),
        ("OP", op("<", False), [4, 5]),
        ("CONST", {"value": "not below one"}, []),
        ("OP", op("unusable", low), [6, 7]),
        ("OP", op("field", low, path="b.low", type="Qty(kg)"), [8]),
        ("OP", op(">", True), [4, 5]),
        ("ASSERT", {"code": "USABLE", "message": "", "result": True}, [10]),
        ("OP", op("field", mass, path="b.mass", type="Qty(kg)"), [4, 11]),
        ("FACT_GET", read("declared Month", "mass_kg", no_month), []),
        ("OP", op("field", no_month, path="b.month", type="Month"), [13]),
        ("CONST", {"value": "no act"}, []),
        ("OP", op("empty", later, kind="notYet", reason="not asked yet"), [15]),
        ("OP", op("field", later, path="c.later", type="Int"), [16]),
        ("CONST", {"law_date": True, "value": {"date": "2027-02-18"}}, []),
        ("OP", op("missingRequired", 1, asked=asked, law="a list"), [18, 9, 12]),
        ("OP", op("field", 1, path="d.missing", type="Int"), [19]),
    ]
    told = {"empty": "missing", "reason": unusable}  # without the details
    shown = payload(
        {
            "a": {"class": "EV"},
            "b": {"gone": gone, "low": told, "mass": {"value": "400.5", "unit": "kg"}, "month": told},
            "c": {"later": {"empty": "notYet", "reason": "not asked yet"}},
            "d": {"missing": 1},
        }
    )
    fields = {
        "a.class": 1,
        "b.gone": 3,
        "b.low": 9,
        "b.mass": 12,
        "b.month": 14,
        "c.later": 17,
        "d.missing": 20,
    }
    return vector("declared values, and what is missing", rules, facts, {**proof(steps, fields), **shown})


# A field of each type: as it is declared, written, kept in the proof, and published.
VALUES: list[tuple[str, str, str, object, object]] = [
    ("v.bool", "Bool", "false", False, False),
    ("v.date", "Date", 'date("2027-02-18")', {"date": "2027-02-18"}, "2027-02-18"),
    ("v.dec", "Dec(2)", "1.50", {"dec": "1.50"}, "1.50"),
    ("v.int", "Int", "-42", -42, -42),
    ("v.large", "Int", "9007199254740992", {"int": "9007199254740992"}, "9007199254740992"),
    ("v.moment", "Moment", 'moment("2027-02-18T12:00:00Z")', {"moment": "2027-02-18T12:00:00Z"},
     "2027-02-18T12:00:00Z"),
    ("v.month", "Month", 'month("2027-02")', {"month": "2027-02"}, "2027-02"),
    ("v.none", "Opt(Int)", "none", None, None),
    ("v.qty", "Qty(kg)", "qty(-0.5, kg)", qty("-0.5", "kg"), {"value": "-0.5", "unit": "kg"}),
    ("v.text", "Text", '"\u00e4 \\"q\\" \\\\"', '\u00e4 "q" \\', '\u00e4 "q" \\'),
    ("v.texts", "Texts", 'texts("en": "water", "de": "Wasser")', {"texts": {"de": "Wasser", "en": "water"}},
     {"de": "Wasser", "en": "water"}),
]  # fmt: skip


def values() -> Step:
    steps: Steps = []
    fields: dict[str, int] = {}
    shown: Step = {}
    for path, kind, _, form, published in VALUES:
        steps.append(("CONST", {"value": form}, []))
        steps.append(("OP", op("field", form, path=path, type=kind), [len(steps) - 1]))
        fields[path] = len(steps) - 1
        shown[path.removeprefix("v.")] = published
    record = {"map": {"a": 1, "b": {"dec": "0.5"}}}
    steps += [
        ("CONST", {"value": 1}, []),
        ("CONST", {"value": {"dec": "0.5"}}, []),
        ("OP", op("record", record, names=["b", "a"]), [len(steps) + 1, len(steps)]),
        ("OP", op("field", record, path="w.record", type="Record(a: Int, b: Dec(1))"), [len(steps) + 2]),
    ]
    fields["w.record"] = len(steps) - 1
    rules = [f"field {path}: {kind} = {written};" for path, kind, written, _, _ in VALUES]
    rules.append("field w.record: Record(a: Int, b: Dec(1)) = let one = 1; record(b: 0.5, a: one);")
    made = payload({"v": shown, "w": {"record": {"a": 1, "b": "0.5"}}})
    return vector("a field of each type", rules, [], {**proof(steps, fields), **made})


def vectors() -> dict[str, dict[str, Any]]:
    made = [product, sum_of_facts, withheld, declared, values]
    return {make.__name__: make() for make in made}
