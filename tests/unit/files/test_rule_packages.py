"""The rule modules that come with the worker: checked, tested, and tested tests."""

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.passport.bundle import verify_bundle
from bpc_worker.core.passport.compile import Sizes
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.syntax import ExpectAudiences
from bpc_worker.core.rules.testing import run_tests
from bpc_worker.core.rules.typed import Example
from bpc_worker.documents.vocabulary import MEASURED, VALUES
from bpc_worker.files.rules import RuleFileError, read_rules, shipped
from tests.mutation import mutants as mutation
from tests.mutation import mutate_rules
from tests.support.passports import bundle_parts, compiled, registry, some_facts, whole_view

ROOT = Path(__file__).parents[3]
SOURCE = read_rules("battery_core")
WEAK = """
table t: Int = {"a": 1};
field n: Int for public = requireSome(lookup(t, "a")) + 2;
example little: {} => expect(n, > 0);
"""


def fields_of(payload: bytes) -> Mapping[str, object]:
    document = canonical_json.decode(payload)
    assert isinstance(document, dict)
    found = document["fields"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_module_has_no_warnings_and_can_be_published(name: str) -> None:
    module = load(read_rules(name))
    report = run_tests(module)

    assert module.warnings == ()
    assert [each for each in report.results if each.failure] == []
    assert report.publishable


@pytest.mark.parametrize("name", shipped())
def test_every_value_it_reads_is_one_of_the_vocabulary(name: str) -> None:
    source = read_rules(name)
    values = re.findall(r'\b(?:given|declared)\(\w+, "([^"]+)"\)', source)
    fixtures = re.findall(r'\bgiven "([^"]+)" =', source) + re.findall(r'\("Value", "([^"]+)"\)', source)
    measured = re.findall(r'\b(?:measured|lastMeasured)\(\w+, "([^"]+)"\)', source)

    assert values
    assert {*values, *fixtures} <= set(VALUES)
    assert set(measured) <= set(MEASURED)


def test_the_small_example_asks_what_the_law_asks() -> None:
    small, whole = load(SOURCE).law, load(read_rules("eu_battery")).law
    assert small is not None
    assert whole is not None
    points = {each.id: each for each in whole.points}

    assert len(small.points) == 21
    for point in small.points:
        same = points[point.id]
        assert (point.name, point.gate, point.source, point.asked) == (
            same.name, same.gate, same.source, same.asked,
        )  # fmt: skip


@pytest.mark.parametrize("name", shipped())
def test_its_tests_say_of_every_field_and_statement_once_who_sees_it(name: str) -> None:
    module = load(read_rules(name))
    examples = [test for test in module.tests if isinstance(test, Example)]
    said = [each.path for test in examples for each in test.expectations if isinstance(each, ExpectAudiences)]

    assert sorted(said) == sorted([*module.fields, *(f"compliance.{code}" for code in module.statements)])


def test_the_worked_check_stands_in_the_passport() -> None:
    made = compiled(some_facts())
    kept = fields_of(made.payload)["kept"]

    assert kept == {
        "carbon": {
            "absolute": {"unit": "tCO2e", "value": "5.400"},
            "per_kwh": {"unit": "kgCO2e_per_kWh", "value": "0.1500"},
            "shares": {
                "raw_material": {"unit": "pct", "value": "55.56"},
                "production": {"unit": "pct", "value": "33.33"},
                "distribution": {"unit": "pct", "value": "16.67"},
                "end_of_life": {"unit": "pct", "value": "-5.56"},
            },
            "total": {"unit": "kgCO2e", "value": "5400"},
            "total_energy": {"unit": "kWh", "value": "36000.0"},
        }
    }


def test_what_is_not_asked_yet_is_computed_and_in_no_view() -> None:
    made = compiled(some_facts())
    carbon = fields_of(made.payload)["carbon"]
    whole = whole_view(made)

    assert isinstance(carbon, dict)
    assert carbon["per_kwh"] == {"empty": "notYet", "reason": "the law does not ask for it yet"}
    assert b'"result":{"qty":"0.1500","unit":"kgCO2e_per_kWh"}' in made.proof
    for name in AUDIENCES:
        shown = verify_view(cut(whole, name), registry(), audience=name).fields
        assert "0.1500" not in str(shown)
        assert not [path for path in shown if path.startswith("kept")]


def test_each_audience_sees_what_the_law_gives_it() -> None:
    whole = whole_view(compiled(some_facts()))
    seen = {name: verify_view(cut(whole, name), registry(), audience=name).fields for name in AUDIENCES}

    counted = {name: len(fields) for name, fields in seen.items()}
    assert counted == {"public": 30, "legitimate_interest": 33, "authorities": 36, "commission": 36}
    assert [name for name in seen if "compliance.MASS_BALANCE" in seen[name]] == ["authorities", "commission"]
    assert all("compliance.USABLE_ENERGY" in seen[name] for name in seen)


def test_a_passport_stays_under_half_of_the_size_limits() -> None:
    made = compiled(some_facts())

    assert len(made.payload) < Sizes().payload / 2
    assert len(made.proof) < Sizes().proof / 2


@pytest.mark.parametrize("law_date", [date(2028, 8, 18), date(2030, 8, 18)])
def test_its_passports_verify(law_date: date) -> None:
    verified = verify_bundle(bundle_parts(law_date=law_date), registry())

    assert len(verified.proof.fields) == 39


def test_its_tests_notice_what_is_wrong_with_it() -> None:
    """A sample by a seed; `make mutants` tries all."""
    found = mutate_rules.run(SOURCE, sample=90)

    assert [mutate_rules.shown(SOURCE, each) for each in found.survivors] == []
    assert found.killed > 40


def test_every_excluded_mutant_exists() -> None:
    made = {(each.owner, each.change) for text in shipped().values() for each in mutation.mutants(text)}

    assert set(mutate_rules.EQUIVALENT) <= made
    assert len(mutate_rules.EQUIVALENT) < 0.01 * len(made)


def test_the_mutants_of_a_text() -> None:
    source = """
    table t: Date = {"a": date("2027-02-18")};
    field f: Bool = let x = if (1.0 < 2.0) then qty(-1, kg) else round(half_even, 0, qty(1, kg));
      assert(x != qty(0, kg), "A", "b"); usable(month("2027-01") < month("2028-01"), "c");
      !(x > qty(5, kg)) && lawDate() == requireSome(lookup(t, "a"));
    field g: Qty(kg) =
      if (emitCompliance("S", true, "s") severity stop) then declared(kg, "mass") else notYet("no");
    """
    found = mutation.mutants(source)
    changes = [each.change for each in found]

    for change in (
        '"a" -> "a_"', '"2027-02-18" -> "2027-02-19"', '"2027-02-18" -> "2027-02-17"', "if (c) -> if (!(c))",
        "1.0 -> 1.1", "1.0 -> 0.9", "< -> <=", "< -> >=", "- -> nothing", "kg -> g", "kg -> mg", "kg -> t",
        "half_even -> half_up", "half_even -> floor", "0 -> 1", "0 -> -1", "assert -> dropped", "!= -> ==",
        '"2027-01" -> "2026-12"', '"2027-01" -> "2027-02"', "usable -> dropped",
        "kg -> t", "notYet -> missing", "stop -> warn",
        "! -> nothing", "> -> >=", "> -> <=", "5 -> 6", "5 -> 4", "&& -> ||", "== -> !=",
    ):  # fmt: skip
        assert change in changes
    assert [change for change in changes if change.startswith(("with ", "without "))] == [
        "with legitimate_interest", "with authorities", "with commission",
    ] * 2  # fmt: skip
    assert [each.text for each in found if each.change.startswith("S: ")] == [
        " for legitimate_interest, public ", " for authorities, public ", " for commission, public ",
    ]  # fmt: skip
    assert '"A" -> "A_"' not in changes
    for each in found:
        assert each.applied(source) != source


def test_a_weak_test_lets_mutants_live(tmp_path: Path) -> None:
    file = tmp_path / "weak.rules"
    file.write_text(WEAK)
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation.mutate_rules", str(file)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stdout.startswith("""\
survived: line 2, column 22, t: 1 -> 2
survived: line 2, column 22, t: 1 -> 0
survived: line 3, column 14, n: with legitimate_interest
survived: line 3, column 14, n: with authorities
survived: line 3, column 14, n: with commission
survived: line 3, column 57, n: 2 -> 3
survived: line 3, column 57, n: 2 -> 1
weak: 9 mutants: 2 killed, 7 survived, 0 excluded; 0 more were refused by the check""")


def test_a_changed_audience_is_killed_by_a_test_that_says_it() -> None:
    strict = WEAK.replace("> 0)", "> 0), expectAudiences(n, public)")
    survivors = mutate_rules.run(strict).survivors

    assert [each.change for each in survivors] == ["1 -> 2", "1 -> 0", "2 -> 3", "2 -> 1"]


def test_a_module_that_fails_as_it_is_cannot_be_mutated() -> None:
    with pytest.raises(ValueError, match="fails its own tests"):
        mutate_rules.run(WEAK.replace("> 0", "> 9"))


def test_the_rules_do_not_depend_on_the_order_of_the_facts() -> None:
    facts = some_facts()

    assert compiled(facts).payload == compiled(facts[::-1]).payload


@pytest.mark.parametrize("given", ["battery_cor", "no/such.rules", "Battery_Core"])
def test_a_text_that_is_not_there_is_said_so(given: str) -> None:
    with pytest.raises(RuleFileError, match=re.escape(given)):
        read_rules(given)


def test_a_file_goes_before_a_shipped_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "battery_core").write_text("field a: Int = 1;")

    assert read_rules("battery_core") == "field a: Int = 1;"


def test_a_folder_is_one_text_its_parts_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, text in {"20_b.rules": "two;", "10_a.rules": "one;", "readme.md": "no rules"}.items():
        (tmp_path / name).write_text(text)

    assert read_rules(str(tmp_path)) == "one;\ntwo;"


def test_a_folder_without_rules_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("field a: Int = 1;")

    with pytest.raises(RuleFileError, match=r"a folder without a \.rules file"):
        read_rules(str(tmp_path))


def test_the_parts_of_a_folder_share_the_limit(tmp_path: Path) -> None:
    for name in ("a.rules", "b.rules"):
        (tmp_path / name).write_bytes(b" " * (Limits().source_bytes // 2 + 1))

    with pytest.raises(RuleFileError, match="More than 1048576 bytes"):
        read_rules(str(tmp_path))


def test_a_text_that_is_too_long_or_not_utf8_is_refused(tmp_path: Path) -> None:
    long, odd = tmp_path / "long.rules", tmp_path / "odd.rules"
    long.write_bytes(b" " * (Limits().source_bytes + 1))
    odd.write_bytes(b'field a: Text = "\xff";')

    with pytest.raises(RuleFileError, match="More than 1048576 bytes"):
        read_rules(str(long))
    with pytest.raises(RuleFileError, match="not UTF-8 at byte 17"):
        read_rules(str(odd))


def test_one_test_can_be_run_alone() -> None:
    module = load(SOURCE)
    [first, *_] = module.tests

    assert run_tests(replace(module, tests=(first,))).cases == 1
