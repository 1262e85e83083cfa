"""One error of each kind, as a rule author reads it: line, column, underline, hint."""

import re

import pytest

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, render
from tests.unit.core.rules.support import error_in, ran
from tests.unit.core.rules.test_errors import BLOCKS, is_told

FACTS = [make_fact("B", "b:1", {"kwh": "seventy-five"})]

# Where it is wrong stands between the marks.
KINDS = {
    "RULE_PARSE_ERROR": "field a: Int =\n  let x = 1 «2»;",
    "RULE_TYPE_ERROR": "field a: Int =\n  let total = 1;\n  «totl» + 1;",
    "UNIT_MISMATCH": "field a: Qty(kg) =\n  qty(1, kg) «+» qty(1, kWh);",
    "RULE_CYCLE_DETECTED": 'field «a»: Int =\n  field("b");\nfield b: Int = field("a");',
    "RULE_LIMIT_EXCEEDED": "field a: Dec(1) =\n\ttoDec(«999999999», 1);",
    "DIVISION_BY_ZERO": "field a: Dec(1) =\n  round(up, 1, 1 «/» 0);",
    "RULE_ASSERTION_FAILED": 'field a: Int =\n  «assert(1 > 2, "A", "one is not more than two")»; 1;',
    "NOT_FOUND": 'field a: Bool =\n  isSome(recordGet(«requireSome(getFact("B", "b:2"))», "kwh"));',
    "VALIDATION_ERROR": "field a: Dec(1) =\n"
    '  «toDec(1, requireSome(recordGet(requireSome(getFact("B", "b:1")), "kwh")))»;',
}


def printed(source: str) -> list[str]:
    with pytest.raises(RuleError) as caught:
        ran(load(source), FACTS)
    return render(source, caught.value).split("\n")


def expected_place(marked: str) -> tuple[str, str, str]:
    """By hand, from the mark: place, source line and underline."""
    before, _, rest = marked.partition("«")
    meant = rest.partition("»")[0] if "»" in rest else ""
    number, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    line = marked.replace("«", "").replace("»", "").split("\n")[number - 1].removesuffix("\r")
    blank = re.sub(r"[^\t]", " ", line[: column - 1])
    return f"(line {number}, column {column})", f"    {line}", f"    {blank}{'^' * len(meant)}"


@pytest.mark.parametrize(("code", "marked"), KINDS.items(), ids=KINDS)
def test_one_error_of_each_kind_is_printed_with_its_place_and_a_hint(code: str, marked: str) -> None:
    place, line, underline = expected_place(marked)

    first, *rest = printed(marked.replace("«", "").replace("»", ""))

    assert first.startswith(f"{code}: ")
    assert first.endswith(place)
    assert rest[:2] == [line, underline]
    assert rest[2].startswith("hint: ")


@pytest.mark.parametrize("block", BLOCKS)
def test_every_listed_error_is_printed_with_its_place_underlined(block: str) -> None:
    marked = "\n".join(line for line in block.split("\n") if not is_told(line))
    source = marked.replace("«", "")
    place, line, indent = expected_place(marked)

    first, shown, underline, *hint = render(source, error_in(source)).split("\n")

    assert first.endswith(place)
    assert len(line) > 104 or (shown == line and re.fullmatch(re.escape(indent) + r"\^+", underline))
    assert [each for each in block.split("\n") if each.startswith("hint: ")] == hint
