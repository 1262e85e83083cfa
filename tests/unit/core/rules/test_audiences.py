"""Whom a passport is for: declarations, fields for nobody, and who may see a statement."""

import pytest

from bpc_worker.core.rules.diff import Change, diff
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.testing import run_tests

FOUR = ("authorities", "commission", "legitimate_interest", "public")


def refused(source: str) -> RuleError:
    with pytest.raises(RuleError) as caught:
        load(source)
    return caught.value


def test_without_a_declaration_all_are_meant() -> None:
    assert load("field a: Int = 1;").audiences == FOUR
    assert load("field a: Int = 1; audiences public, commission, public;").audiences == (
        "commission",
        "public",
    )


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("audiences public; audiences public;", "two declarations of audiences", "remove it"),
        ("audiences nobody;", "unknown audience 'nobody'", "known are"),
        ("audiences public, press;", "unknown audience 'press'", "known are"),
        ("audiences public", "expected ';'", "audiences public, authorities;"),
        (
            "audiences public; field a: Int for authorities = 1;",
            "'authorities' is none of the audiences that this text declares",
            "audiences authorities, public;",
        ),
        (
            'audiences public; field a: Bool = emitCompliance("C", true, "m") for commission;',
            "'commission' is none of the audiences",
            "audiences commission, public;",
        ),
        ("field a: Int for nobody, public = 1;", "expected '='", "for and audiences"),
        ("field a: Int = count(1) for public;", "expected ';'", "ends with ';'"),
    ],
)
def test_a_name_is_declared_and_known(source: str, message: str, hint: str) -> None:
    error = refused(source)

    assert message in error.message
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("compliance", "compliance"), ("compliance.ART_7", "compliance"), ("audiences", "audiences"),
        ("audiences.of", "audiences"), ("_sd", "_sd"), ("a._sd.b", "_sd"), ("a.b._sd_alg", "_sd_alg"),
    ],
)  # fmt: skip
def test_a_path_has_no_name_of_views(path: str, name: str) -> None:
    error = refused(f"field {path}: Int = 1;")

    assert error.message == f"no field can be called '{path}': a view has '{name}' for itself"


@pytest.mark.parametrize("path", ["a.compliance", "complianceX", "audiencesX.a", "a.audiences", "_sdx", "of"])
def test_other_paths_are_free(path: str) -> None:
    assert path in load(f"field {path}: Int = 1;").fields


def test_three_points_are_no_name_of_the_language() -> None:
    assert refused("field a....b: Int = 1;").code == "RULE_PARSE_ERROR"


def test_a_field_for_nobody_is_in_no_set() -> None:
    module = load(
        "field a: Int for nobody = 1; field b: Int = 2;"
        " example e: {} => expectAudiences(a, nobody), expectAudiences(b, public);"
        " example f: {} => expectAudiences(b, nobody);"
    )

    assert module.fields["a"].audiences == ()
    assert module.sets == {("public",)}
    held, failed = run_tests(module).results
    assert held.failure is None
    assert "b is for public, expected nobody" in str(failed.failure)


def test_a_statement_is_seen_by_those_who_see_its_field() -> None:
    module = load('field a: Bool for commission, authorities = emitCompliance("C", true, "m");')

    assert module.statements == {"C": ("authorities", "commission")}


def test_a_statement_may_say_who_sees_it_and_is_a_set_although_it_is_never_made() -> None:
    module = load(
        'field a: Bool = if (false) then emitCompliance("C", true, "m") for authorities else false;'
        'field b: Bool = emitCompliance("D", true, "m") for nobody;'
    )

    assert module.statements == {"C": ("authorities",), "D": ()}
    assert module.sets == {("public",), ("authorities",)}


STATED = """field a: Bool =
  if (true) then emitCompliance("C", true, "m"){} else emitCompliance("C", false, "n"){};"""


def test_both_branches_say_the_same_audiences() -> None:
    same = load(STATED.format(" for authorities", " for authorities"))

    assert same.statements == {"C": ("authorities",)}
    for one, other in ((" for authorities", ""), ("", " for authorities"), (" for nobody", " for public")):
        assert refused(STATED.format(one, other)).message == "two audiences for the statement 'C'"


def test_one_code_is_stated_by_one_field() -> None:
    text = 'field a: Bool = emitCompliance("C", true, "m"); field b: Bool = emitCompliance("C", true, "m");'

    assert refused(text).message == "two compliance statements 'C'"


def test_a_statement_in_a_field_for_nobody_needs_its_own_audience() -> None:
    error = refused('field a: Bool for nobody = emitCompliance("C", true, "m");')

    assert error.message == "nobody sees the field 'a', which states 'C'"
    assert error.hint == "say who may see the statement: emitCompliance(…) for nobody"


OVER = """
field kept: Int for {kept} = 5;
field a: Bool for {field} = let x = field("kept"); emitCompliance("C", x > 1, "m"){own};
"""


@pytest.mark.parametrize(
    ("kept", "field", "who"),
    [
        ("authorities", "public", "public"),
        ("authorities", "authorities, commission, public", "commission, public"),
        ("nobody", "authorities", "authorities"),
    ],
)
def test_a_statement_over_a_value_kept_from_its_readers_needs_its_own_audience(
    kept: str, field: str, who: str
) -> None:
    error = refused(OVER.format(kept=kept, field=field, own=""))

    assert error.message == f"the statement 'C' would tell {who} about 'kept'"
    assert f"emitCompliance(…) for {field}" in (error.hint or "")
    assert load(OVER.format(kept=kept, field=field, own=" for authorities")).statements["C"] == (
        "authorities",
    )


@pytest.mark.parametrize(("kept", "field"), [("public", "authorities"), ("authorities, public", "public")])
def test_what_the_public_may_see_is_told_to_nobody(kept: str, field: str) -> None:
    assert load(OVER.format(kept=kept, field=field, own="")).statements == {"C": (field,)}


def test_a_diff_shows_declarations_and_nobody() -> None:
    [declared, field] = diff("field a: Int = 1;", "audiences public; field a: Int for nobody = 1;")

    assert (declared.kind, declared.state) == ("audiences", "added")
    assert declared.changes == (Change("names", None, "public"),)
    assert field.changes == (Change("audiences", "public", "nobody"),)
