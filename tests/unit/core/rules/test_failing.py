"""Where an evaluation ended, and the facts that were behind it."""

import pytest

from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.failing import FactRead, Failing, failing
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, Span

TEXT = """
field c.base: Qty(kg) for public = declared(kg, "composition.mass_kg");
field a.mass: Qty(kg) for public = let what = given(Text, "composition.chemistry");
  requireSome(field("c.base"), "there is no base");
field a.parts: Int for public = let n = count(getFactsByPrefix("Component", "component:"));
  let note = getFact("Note", "long");
  assert(requireSome(field("a.mass"), "no mass") > qty(9, kg), "HEAVY", "a battery is heavy");
  assert(requireSome(field("c.base"), "no base") > qty(9, kg), "HEAVY", "a battery is heavy"); n;
"""
FACTS = FactSet(
    [
        make_fact("Value", "composition.mass_kg", {"value": "5"}),
        make_fact("Component", "component:lid", {"part": "lid"}),
        make_fact("Note", "long", {"text": "x" * 200}),
    ]
)


def test_an_assertion_that_fails_is_told_with_its_field_and_what_it_had_read() -> None:
    module = load(TEXT)
    with pytest.raises(RuleError) as raised:
        Evaluator(module, FACTS, None).run()

    shown = '{"text":"' + "x" * 91 + "…"
    assert failing(module, FACTS, raised.value) == Failing(
        "a.parts", (FactRead("Note", "long", shown), FactRead("Value", "composition.mass_kg", "5"))
    )


def test_an_error_outside_of_the_fields_has_none() -> None:
    module = load(TEXT)

    assert failing(module, FACTS, RuleError("X", "x", Span(0, 1), hint="")) is None
