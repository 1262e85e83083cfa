import json

import pytest

from bpc_worker.core.proof.explain import explain, summary
from bpc_worker.core.proof.verify import VerifiedProof
from bpc_worker.core.rules.facts import make_fact
from tests.support.proofs import EVERYTHING, FACTS, WORKED_CHECK, document, rehashed, verified


def proved(source: str = EVERYTHING, facts: object = FACTS) -> VerifiedProof:
    return verified(rehashed(document(source, facts)), with_facts=False)


def test_a_field_is_explained_down_to_the_facts_and_where_they_stand() -> None:
    sources = {
        ("Battery", "battery:X"): ["doc 1#/battery"],
        ("Stage", "stage:1"): ["doc 2#/0"],
        ("Stage", "stage:2"): ["doc 2#/1"],
        ("Other", "stage:2"): ["elsewhere"],
        ("Stage", "other"): ["elsewhere"],
    }

    lines = explain(proved(WORKED_CHECK), "carbon.per_kwh", sources)

    assert (
        "\n".join(lines)
        == """\
carbon.per_kwh = 0.15 kgCO2e_per_kWh
  round (mode half_even, scale 2) = 0.15 kgCO2e_per_kWh
    / = 0.15 kgCO2e_per_kWh
      field carbon.total = 5400 kgCO2e
        carbon.total = 5400 kgCO2e
          sumQty (unit kgCO2e) = 5400 kgCO2e
            map (lambda s => toQty(kgCO2e, requireSome(recordGet(s, "kg")))) = list of 3 (LIST)
              3 facts Stage stage:… (list FACTS)
                from doc 2#/0
                from doc 2#/1
      field energy.total = 36000.0 kWh
        energy.total = 36000.0 kWh  [Annex II]
          * = 36000.0 kWh
            * = 4500.0 kWh
              toQty (unit kWh) = 75.0 kWh
                requireSome = 75.0
                  recordGet (name usable_kwh) = 75.0
                    requireSome = fact Battery battery:X
                      fact Battery battery:X (sha256 HASH)
                        from doc 1#/battery
              requireSome = 60
                lookup = 60
                  table cyclesPerYear {"L": 20, "M1": 60}
                  toText = M1
                    requireSome = M1
                      recordGet (name category) = M1
                        requireSome = fact Battery battery:X  (see above)
            toInt = 8
              requireSome = 8
                recordGet (name years) = 8
                  requireSome = fact Battery battery:X  (see above)
          assert YEARS: a warranty has years
            > = true
              toInt = 8  (see above)
              constant 0""".replace("HASH", f"{FACTS[0].payload_hash[:12]}…")
        .replace("FACTS", hash_in(lines, "3 facts"))
        .replace("LIST", hash_in(lines, "map ("))
    )


def test_in_short_a_field_is_what_it_rests_on_each_once() -> None:
    sources = {("Battery", "battery:X"): ["doc 1#/battery"], ("Stage", "stage:1"): ["doc 2#/0"]}

    lines = summary(proved(WORKED_CHECK), "carbon.per_kwh", sources)

    assert [line.partition(" (")[0] for line in lines] == [
        "carbon.per_kwh = 0.15 kgCO2e_per_kWh",
        "  field carbon.total = 5400 kgCO2e",
        "  3 facts Stage stage:…",
        "    from doc 2#/0",
        "  field energy.total = 36000.0 kWh",
        "  fact Battery battery:X",
        "    from doc 1#/battery",
        '  table cyclesPerYear {"L": 20, "M1": 60}',
    ]
    with pytest.raises(LookupError, match="no field nowhere; there are "):
        summary(proved(WORKED_CHECK), "nowhere")


def test_in_short_a_declared_value_stands_beside_its_fact() -> None:
    source = 'field mass: Qty(kg) = declared(kg, "mass_kg"); field other: Bool = given(Bool, "b") == none;'
    source += 'field stated: Bool = emitCompliance("HEAVY", lawDate() > date("2027-01-01"), "it is");'
    found = proved(source, [make_fact("Value", "mass_kg", {"value": "400.0"})])

    assert [line.partition(" (")[0] for line in summary(found, "mass")] == [
        "mass = 400.0 kg",
        "  declared kg = 400.0 kg of fact Value mass_kg",
    ]
    assert "  given Bool = null of fact Value b (absent)" in summary(found, "other")
    stated = ["  compliance HEAVY (warn) = true: it is", "  law date 2027-02-18"]
    assert summary(found, "stated")[1:] == stated


def hash_in(lines: list[str], start: str) -> str:
    [line] = [line for line in lines if line.strip().startswith(start)]
    return line.rstrip(")").split(" ")[-1].removeprefix("(")


def test_every_field_of_the_language_can_be_explained() -> None:
    found = proved()
    lines = [line for path in found.fields for line in explain(found, path)]
    told = "\n".join(lines)

    for wanted in (
        "compliance ART_7 (warn) = true: low carbon",
        "declared kg = 400.5 kg of fact Value composition.mass_kg (sha256",
        "given Bool = null of fact Value cells (absent)",
        "declared.low = missing (declared, but not usable; not below one)",
        "declared.later = notYet (not asked yet; no act)",
        "declared.month = 2027-02",
        'declared.agent = {"de": "Wasser", "en": "water"}',
        'draft table grades {"a": "A", "b": "B"}',
        "law date 2027-02-18",
        "secret = withheld (until 2030)",
        "* = 10800 kgCO2e  (computed, not used)",
        "plain.large = 27021597764222980",
        'plain.record = {"a": 1, "b": null}',
        "plain.absent = null",
        "0 facts Nothing … (list",
    ):
        assert wanted in told
    assert all("\n" not in line for line in lines)


def test_what_is_missing_names_the_fields_and_not_how_each_came_about() -> None:
    lines = explain(proved(), "completeness.missing")

    assert [line.strip() for line in lines[2:]] == [
        "law date 2027-02-18",
        "declared.absent = missing (not declared)",
        "declared.mass = 400.5 kg",
        (
            "declared.wrong = missing (declared, but not usable; "
            "Value composition.mass_kg: toMonth: the text is no month)"
        ),
    ]


def test_an_absent_fact_is_told() -> None:
    lines = explain(proved('field a: Bool = isSome(getFact("A", "b"));', ()), "a")

    assert lines[-1].strip() == "fact A b (absent)"


def test_texts_cannot_break_the_lines_or_fill_the_page() -> None:
    facts = [make_fact("A", "b", {"t": "one\ntwo\x1b[2J" + "x" * 200})]
    source = 'field a: Text = toText(requireSome(recordGet(requireSome(getFact("A", "b")), "t")));'

    lines = explain(proved(source, facts), "a", {("A", "b"): ["file\nname"]})

    assert lines[0].startswith("a = one\\u000atwo\\u001b[2Jxxx")
    assert max(map(len, lines)) < 120
    assert lines[-1].strip() == "from file\\u000aname"


def test_of_many_places_some_are_told() -> None:
    sources = {("Stage", f"stage:{number}"): ["place"] for number in range(30)}

    lines = explain(proved(WORKED_CHECK), "carbon.total", sources)

    assert sum("from place" in line for line in lines) == 20
    assert "  from 10 more places" in lines[-1]


def test_an_unknown_field_is_an_error_that_names_the_known() -> None:
    with pytest.raises(LookupError, match=r"no field carbon; there are carbon\.low, carbon\.per_kwh"):
        explain(proved(WORKED_CHECK), "carbon")


def test_a_field_whose_value_is_a_statement_shows_it_once() -> None:
    lines = explain(proved(WORKED_CHECK), "carbon.low")

    assert sum("compliance ART_7" in line for line in lines) == 1
    assert json.dumps(lines)
