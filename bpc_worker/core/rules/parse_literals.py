"""Tokens -> months, moments, texts by language, severities: words that are names elsewhere."""

from bpc_worker.core.base.calendar import Moment, Month, read_moment, read_month
from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_types import parse_key
from bpc_worker.core.rules.source import RuleError, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.tokens import Kind, Token
from bpc_worker.core.rules.values import read_texts

TIMED = ("month", "moment", "texts")
SEVERITIES = ("note", "warn", "stop")
_FORMS = {
    "month": 'write month("2027-02")',
    "moment": 'write moment("2027-02-18T12:00:00Z")',
    "texts": 'write texts("en": "water", "de": "Wasser")',
}


def parse_timed(cursor: Cursor) -> syntax.Literal:
    """timed = "month" "(" TEXT ")" | "moment" "(" TEXT ")" | "texts" "(" TEXT ":" TEXT
    { "," TEXT ":" TEXT } [ "," ] ")" ;
    """
    start = cursor.next()
    form = _FORMS[start.text]
    cursor.expect("(", hint=form)
    if start.text == "texts":
        return _texts(cursor, start)
    token = cursor.expect_kind(Kind.TEXT, f"a {start.text} in quotes", hint=form)
    cursor.expect(")", hint=form)
    read = read_month if start.text == "month" else read_moment
    found: Month | Moment | None = read(token.text)
    if found is None:
        message = f"{quoted(token.text)} is not a {start.text}"
        raise RuleError("RULE_PARSE_ERROR", message, token.span, hint=form)
    return syntax.Literal(found, cursor.since(start))


def _texts(cursor: Cursor, start: Token) -> syntax.Literal:
    form = _FORMS["texts"]
    members: dict[str, str] = {}
    while not cursor.at(")"):
        tag = parse_key(cursor, members)
        cursor.expect(":", hint=form)
        members[tag] = cursor.expect_kind(Kind.TEXT, "a text in quotes", hint=form).text
        if cursor.take(",") is None:
            break
    cursor.expect(")", hint=form)
    found = read_texts(members)
    if found is None:
        message = "texts have tags of languages, and none is blank"
        raise RuleError("RULE_PARSE_ERROR", message, cursor.since(start), hint=form)
    return syntax.Literal(found, cursor.since(start))


def parse_severity(cursor: Cursor) -> str:
    """severity = "note" | "warn" | "stop" ;"""
    known = f"known are {', '.join(SEVERITIES)}"
    token = cursor.expect_kind(Kind.NAME, "a severity", hint=known)
    if token.text not in SEVERITIES:
        hint = did_you_mean(token.text, SEVERITIES, known)
        raise RuleError("RULE_PARSE_ERROR", f"unknown severity {quoted(token.text)}", token.span, hint=hint)
    return token.text
