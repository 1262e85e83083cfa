"""What `bpc-worker rules check` says about the tests in a rule text, before any of them runs."""

import json

import pytest
from click.testing import CliRunner

from bpc_worker.cli.rules import rules

TEXT = """field mass: Qty(kg) = qty(1, kg);
example e: {} => {EXPECTED};
"""


def check(expected: str, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(rules, ["check", "-", *options], input=TEXT.replace("{EXPECTED}", expected))
    return done.exit_code, done.stdout


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (
            "expect(mas, == qty(1, kg))",
            """-: RULE_TYPE_ERROR: unknown field 'mas' (line 2, column 25)
    example e: {} => expect(mas, == qty(1, kg));
                            ^^^
hint: did you mean mass?
""",
        ),
        (
            "expect(mass, == qty(1, g))",
            """-: UNIT_MISMATCH: '==' does not fit Qty(kg) and Qty(g) (line 2, column 31)
    example e: {} => expect(mass, == qty(1, g));
                                  ^^^^^^^^^^^^
hint: convert(kg, …) brings both to one unit
""",
        ),
        (
            """expectError("A");
property p: cases(1) seed(1) {} forall x: Int in {1} => field("mass")""",
            """-: RULE_TYPE_ERROR: a property is Bool, but this is Qty(kg) (line 3, column 57)
    property p: cases(1) seed(1) {} forall x: Int in {1} => field("mass");
                                                            ^^^^^^^^^^^^^
hint: compare: ==, !=, <, <=, > and >= give a Bool
""",
        ),
    ],
)
def test_what_is_wrong_in_a_test_is_shown_with_its_place(expected: str, printed: str) -> None:
    assert check(expected) == (1, printed)


def test_it_is_told_to_machines_too() -> None:
    code, printed = check("expectAudiences(masses, public)", "--json")

    assert code == 1
    assert json.loads(printed)["errors"] == [
        {
            "code": "RULE_TYPE_ERROR", "message": "unknown field 'masses'", "line": 2, "column": 34,
            "width": 6, "hint": "did you mean mass?",
        }
    ]  # fmt: skip


def test_a_test_that_only_fails_is_no_error_of_the_check() -> None:
    assert check("expect(mass, == qty(2, kg))") == (0, "")


def test_a_draft_is_told() -> None:
    text = 'draft table t: Int = {"a": 1}; field a: Opt(Int) = lookup(t, "a");'
    done, machine = (
        CliRunner().invoke(rules, ["check", "-", *options], input=text) for options in ([], ["--json"])
    )

    assert (done.exit_code, done.stdout) == (0, "-: the table t is a draft\n")
    assert json.loads(machine.stdout)["drafts"] == ["t"]
