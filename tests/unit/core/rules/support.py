"""Rule texts in tests: what they give, and where they are wrong."""

from collections.abc import Callable, Iterable
from datetime import date

import pytest

from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact, Value

LAW_DATE = date(2027, 2, 18)
FACTS = (
    make_fact(
        "Battery",
        "battery:X",
        {
            "kwh": "75.0",
            "years": 8,
            "class": "M1",
            "new": True,
            "made": "2026-11-30",
            "cells": [3, 1, 2],
            "maker": {"name": "ACME"},
            "nothing": None,
            "third": "0.333",
            "wild": "1e5",
        },
    ),
    make_fact("Stage", "stage:1", {"kg": "1.5", "name": "mining"}),
    make_fact("Stage", "stage:2", {"kg": "2.25", "name": "making"}),
    make_fact("Stage", "stage:3", {"kg": "0.25", "name": "moving"}),
)

BATTERY = 'requireSome(getFact("Battery", "battery:X"))'
STAGES = 'getFactsByPrefix("Stage", "stage:")'


def from_battery(name: str) -> str:
    return f'requireSome(recordGet({BATTERY}, "{name}"))'


def error_in(source: str, limits: Limits | None = None) -> RuleError:
    """The error that the check of a rule text finds."""
    with pytest.raises(RuleError) as caught:
        load(source, limits)
    return caught.value


def raised(run: Callable[[], object]) -> RuleError | None:
    """The error that it ends with, if it does."""
    try:
        run()
    except RuleError as error:
        return error
    return None


def marked(source: str, error: RuleError) -> str:
    """The text with « where the error begins."""
    return f"{source[: error.span.start]}«{source[error.span.start :]}"


def ran(
    source: str | TypedModule,
    facts: Iterable[Fact] = FACTS,
    law_date: date | None = LAW_DATE,
    limits: Limits | None = None,
) -> Evaluator:
    module = load(source, limits) if isinstance(source, str) else source
    evaluator = Evaluator(module, FactSet(facts), law_date, limits)
    evaluator.run()
    return evaluator


def proof_of(source: str, facts: Iterable[Fact] = FACTS) -> bytes:
    proof, _ = ran(source, facts).proof.finish(bytes(16))
    return proof


def value_of(expression: str, kind: str, before: str = "") -> Value:
    """Of one field, over the usual facts."""
    return ran(f"{before} field a: {kind} = {expression};").result.fields["a"]


def error_of(expression: str, kind: str, limits: Limits | None = None) -> RuleError:
    """Found while it runs."""
    module = load(f"field a: {kind} = {expression};")
    with pytest.raises(RuleError) as caught:
        Evaluator(module, FactSet(FACTS), None, limits).run()
    return caught.value
