"""An error of the rules: its values are told to the tenant and kept from the queue."""

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, Span
from bpc_worker.domain.failures import Source, failed_in, in_words, without_values

TEXT = 'field weight: Qty(kg) for public = declared(kg, "composition.mass_kg");'
FACTS = [make_fact("Value", "composition.mass_kg", {"value": "5.5"})]


def _error(start: int) -> RuleError:
    return RuleError("RULE_ASSERTION_FAILED", "HEAVY: it is heavy", Span(start, start + 1), hint="correct it")


def test_the_tenant_is_told_the_value_and_its_document_and_the_queue_is_not() -> None:
    error = failed_in(TEXT, load(TEXT), FACTS, _error(TEXT.index("declared")))
    source = Source("Value", "composition.mass_kg", "sheet.csv", "2:2")

    assert in_words(error, [source]).splitlines()[-2:] == [
        "field: weight",
        "Value composition.mass_kg = 5.5 (sheet.csv at 2:2)",
    ]
    assert in_words(error, []).endswith("= 5.5 (no document)")
    stored = without_values(error)
    assert "5.5" not in f"{stored.message} {stored.detail}"
    assert "field: weight" in stored.message


def test_a_whole_document_has_no_place() -> None:
    error = failed_in(TEXT, load(TEXT), FACTS, _error(TEXT.index("declared")))

    assert in_words(error, [Source("Value", "composition.mass_kg", "all.json", "")]).endswith("(all.json)")


def test_an_error_of_no_field_is_told_as_it_is() -> None:
    error = failed_in(TEXT, load(TEXT), FACTS, _error(0))

    assert error.detail is None
    assert "field:" not in error.message
