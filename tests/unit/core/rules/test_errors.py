"""What a rule author is told: every error with its place and hint, as `errors.txt` lists them.

A block of that file is a rule text, with « where it is wrong, then the error and its hint.
"""

import re
from pathlib import Path

import pytest

from bpc_worker.core.rules.source import Limits, render
from tests.unit.core.rules.support import error_in, marked

LISTED = Path(__file__).with_name("errors.txt").read_text()
BLOCKS = [block.strip("\n") for block in LISTED.split("\n\n") if not block.startswith("#")]

REMOVE_IT = "remove it: what you read would not be what is meant"
INVISIBLE = [
    ("«\ufefffield a: Int = 1;", "unexpected character '\ufffd'", "save the file without a byte order mark"),
    ('field a: Text = "«\x00";', "the character U+0000 cannot stand in a rule text", REMOVE_IT),
    ('field a: Text = "«\x1b[2J";', "the character U+001B cannot stand in a rule text", REMOVE_IT),
    ("field a: Int = 1; -- «\ud800", "the character U+D800 cannot stand in a rule text", REMOVE_IT),
    ("field a: Int = 1; -- «\u202e", "the character U+202E cannot stand in a rule text", REMOVE_IT),
]


def told(expected: str) -> str:
    """The block that a text makes, given the block that is expected."""
    source = "\n".join(line for line in expected.split("\n") if not is_told(line)).replace("«", "")
    error = error_in(source)
    return f"{marked(source, error)}\n{error.code}: {error.message}\nhint: {error.hint}"


def is_told(line: str) -> bool:
    return line.startswith("hint: ") or line.partition(":")[0].replace("_", "").isupper()


@pytest.mark.parametrize("block", BLOCKS)
def test_an_error_has_its_code_place_and_hint(block: str) -> None:
    assert told(block) == block


@pytest.mark.parametrize("block", BLOCKS)
def test_a_hint_says_something_that_the_message_does_not(block: str) -> None:
    message, hint = block.split("\n")[-2:]

    assert re.fullmatch(r"hint: \S.*\S", hint)
    assert hint.removeprefix("hint: ") not in message


@pytest.mark.parametrize(("expected", "message", "hint"), INVISIBLE)
def test_characters_that_cannot_be_seen_are_named(expected: str, message: str, hint: str) -> None:
    source = expected.replace("«", "")
    error = error_in(source)

    assert (error.code, error.message, error.hint) == ("RULE_PARSE_ERROR", message, hint)
    assert marked(source, error) == expected


@pytest.mark.parametrize(
    ("expected", "message", "limits"),
    [
        ("«field a: Int = 1;", "the rule text has 17 bytes (the limit is 16)", Limits(source_bytes=16)),
        ("field a: Int = 1«;", "more than 6 words and signs (the limit is 6)", Limits(nodes=6)),
        ("field a: Int = (((«1)));", "nested 3 levels deep (the limit is 2)", Limits(nesting=2)),
        ("field «a.b.c: Int = 1;", "a path of 3 names (the limit is 2)", Limits(nesting=2)),
        ("field a: Int = «1234;", "a number of 4 digits (the limit is 3)", Limits(digits=3)),
        ("field a: Dec(2) = «12.34;", "a number of 4 digits (the limit is 3)", Limits(digits=3)),
        ("field a: Dec(«3) = 1.0;", "too many digits after the point (the limit is 2)", Limits(scale=2)),
        ("field a: Dec(2) = «1.234;", "too many digits after the point (the limit is 2)", Limits(scale=2)),
        (
            "field a: Qty(kg) = qty(«1.23, kg);",
            "too many digits after the point (the limit is 1)",
            Limits(scale=1),
        ),
        (
            "field a: Dec(1) = round(up, «2, 1);",
            "too many digits after the point (the limit is 1)",
            Limits(scale=1),
        ),
        (
            "property p: cases(«3) seed(1) {} forall x: Int in {1} => true;",
            "cases(3) (the limit is 2)",
            Limits(cases=2),
        ),
        (
            "field a: Bool = «1 * 1 + 1 == 1 && true;",
            "operators and brackets nested 5 levels deep (the limit is 4)",
            Limits(nesting=2),
        ),
    ],
)
def test_every_limit_of_the_text_can_be_set(expected: str, message: str, limits: Limits) -> None:
    source = expected.replace("«", "")
    error = error_in(source, limits)

    assert (error.code, error.message) == ("RULE_LIMIT_EXCEEDED", message)
    assert marked(source, error) == expected
    assert error.hint


PRINTED = [
    (
        "field energy.total: Qty(kWh) =\n  let usable = qty(75, kWh);\n  usable * 60 + qty(1, kWhh);\n",
        """\
RULE_TYPE_ERROR: unknown unit 'kWhh' (line 3, column 24)
      usable * 60 + qty(1, kWhh);
                           ^^^^
hint: did you mean kWh?""",
    ),
    (
        'field a: Int = field("b");\r\n\tfield b: Int =\tfield("a") + 1;',
        """\
RULE_CYCLE_DETECTED: fields need each other: a -> b -> a (line 1, column 7)
    field a: Int = field("b");
          ^
hint: one of them must not use the others""",
    ),
    (
        "field a: Int =\n\tlet\tx = 1;\ttrue;",
        """\
RULE_TYPE_ERROR: the field is Int, but this is Bool (line 2, column 13)
    \tlet\tx = 1;\ttrue;
    \t   \t      \t^^^^
hint: write a whole number, or toInt(…) of a value from a fact""",
    ),
]


@pytest.mark.parametrize(("source", "printed"), PRINTED)
def test_an_error_is_printed_with_its_line_underlined(source: str, printed: str) -> None:
    assert render(source, error_in(source)) == printed
