from datetime import date
from typing import Any

import pytest

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.relambda import Rebuilt, ready, rebuilt
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.trace import Meter, lambda_params
from bpc_worker.core.rules.typed import Aggregate
from bpc_worker.core.rules.values import JsonValue, Value

RULES = """
table t: Int = {"a": 1};
field f: Int = 5;
field g: Int = let two = 2; fold(toList(requireSome(recordGet(requireSome(getFact("A", "a")), "l"))), 0,
  (sum, x) => if (lawDate() > date("2030-01-01")) then 0
    else sum + toInt(x) * two + field("f") + requireSome(lookup(t, "a")));
"""


def params_of(path: str) -> dict[str, Any]:
    body: Any = load(RULES).fields[path].body
    found = body.result
    assert isinstance(found, Aggregate)
    assert found.function is not None
    return lambda_params(found.function)


PARAMS = params_of("g")


def test_a_lambda_names_what_it_takes_and_uses() -> None:
    assert PARAMS["takes"] == [["sum", "Int"], ["x", "Json"]]
    assert PARAMS["uses"] == [
        ["lawDate", "Date"], ["two", "Int"], ["field f", "Int"], ["table t", "Map(Text, Int)"],
    ]  # fmt: skip


def test_it_is_run_again_with_values_of_the_verifier() -> None:
    captured: list[Value] = [date(2027, 2, 18), 2, 5, {"a": 1}]
    found = rebuilt("fold", PARAMS, Limits())

    call = ready(found, captured, Limits(), Meter(Limits()))

    assert call(10, JsonValue(3)) == 10 + 3 * 2 + 5 + 1
    later = ready(found, [date(2031, 1, 1), *captured[1:]], Limits(), Meter(Limits()))
    assert later(10, JsonValue(3)) == 0


def test_what_it_does_counts_against_the_given_meter() -> None:
    found = rebuilt("fold", PARAMS, Limits())
    call = ready(found, [date(2027, 1, 1), 2, 5, {"a": 1}], Limits(), Meter(Limits(steps=20)))

    call(0, JsonValue(1))
    with pytest.raises(RuleError, match="too many steps"):
        call(0, JsonValue(1))


@pytest.mark.parametrize(
    "changes",
    [
        {"lambda": "(sum, x) => sum + unknown"},
        {"lambda": '(sum, x) => getFact("A", "a")'},
        {"lambda": '(sum, x) => emitCompliance("A", true, "a")'},
        {"lambda": "(sum, x) => sum == 1"},
        {"lambda": "x => x"},
        {"lambda": "1 + 1"},
        {"lambda": "(sum, x) => sum), f((a, b) => a"},
        {"lambda": "(sum, x) => " + "(" * 100 + "sum" + ")" * 100},
        {"takes": [["sum", "Int"]]},
        {"takes": [["x", "Json"], ["sum", "Int"]]},
        {"uses": []},
        {"uses": [*PARAMS["uses"], ["more", "Int"]]},
        {"uses": list(reversed(PARAMS["uses"]))},
        {"uses": 5},
        {"takes": [["sum", "Int"], ["x", "Nonsense"]]},
    ],
)  # fmt: skip
def test_a_lambda_that_is_not_what_its_step_says_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RuleError):
        rebuilt("fold", {**PARAMS, **changes}, Limits())


def test_a_sum_has_no_lambda_to_call() -> None:
    with pytest.raises(RuleError, match="needs a lambda"):
        ready(Rebuilt(), [], Limits(), Meter(Limits()))(1)
