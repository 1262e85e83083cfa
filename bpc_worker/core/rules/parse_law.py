"""Tokens -> the `law` block: acts, and points with what is asked of each class, and since when."""

from collections.abc import Iterable
from datetime import date

from bpc_worker.core.rules import law_syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.law import BASES, GATES, AllOf, AnyOf, Condition, Holds, Not, Since, Word
from bpc_worker.core.rules.parse_expressions import parse_name
from bpc_worker.core.rules.parse_types import (
    doubled,
    integer,
    iso_date,
    parse_audiences,
    parse_path,
    parse_text,
)
from bpc_worker.core.rules.source import RuleError, Span, limit_exceeded, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.tokens import Kind

_LAW = 'write law "title" by identity.class { act …; point …; }'
_ACT = 'write act name "title" pending; or act name "title" adopted 2027-01-15;'
_POINT = 'write point "id" "name" fields (a.b) source "Art. 1" basis law gate stop for public { … };'
_ROW = "write class: required; or class: not until 2027-02-18 then required when cycle_use;"
_SINCE = "write 2027-02-18 or max(2028-08-18, act + 24 months)"
_MOST_MONTHS = 1_200


def parse_law(cursor: Cursor) -> law_syntax.LawBlock:
    """law = "law" TEXT "by" path "{" { act | point } "}" [ ";" ] ;"""
    start = cursor.next()
    title = parse_text(cursor, "the title of the law's list in quotes", hint=_LAW)
    cursor.expect("by", hint=_LAW)
    class_field, class_span = parse_path(cursor)
    cursor.expect("{", hint=_LAW)
    acts, points = [], []
    while cursor.take("}") is None:
        if cursor.at("act"):
            acts.append(_act(cursor))
        elif cursor.at("point"):
            points.append(_point(cursor))
        else:
            raise cursor.unexpected("'act', 'point' or '}'", hint=_LAW)
    cursor.take(";")
    return law_syntax.LawBlock(
        title, class_field, class_span, tuple(acts), tuple(points), cursor.since(start)
    )


def _act(cursor: Cursor) -> law_syntax.LawAct:
    """act = "act" NAME TEXT ( "pending" | "adopted" day ) ";" ;"""
    start = cursor.next()
    name = parse_name(cursor, "the name of an act", hint=_ACT)
    title = parse_text(cursor, "the title of the act in quotes", hint=_ACT)
    adopted = None
    if _word(cursor, ("pending", "adopted"), _ACT) == "adopted":
        adopted = _day(cursor, _ACT)
    cursor.expect(";", hint=_ACT)
    return law_syntax.LawAct(name.name, title, adopted, cursor.since(start))


def _point(cursor: Cursor) -> law_syntax.LawPoint:
    """point = "point" TEXT TEXT "fields" "(" [ path { "," path } [ "," ] ] ")" "source" TEXT "basis" basis
    "gate" gate "for" audiences "{" { lawRow } "}" [ ";" ] ;
    basis = "law" | "guidance" | "registry" | "standard" ;
    gate = "stop" | "warn" | "system" | "no" ;
    """
    start = cursor.next()
    number = parse_text(cursor, "the id of the point in quotes", hint=_POINT)
    name = parse_text(cursor, "the name of the point in quotes", hint=_POINT)
    cursor.expect("fields", hint=_POINT)
    fields = _paths(cursor)
    cursor.expect("source", hint=_POINT)
    source = parse_text(cursor, "the source in quotes", hint=_POINT)
    cursor.expect("basis", hint=_POINT)
    basis = _word(cursor, BASES, _POINT)
    cursor.expect("gate", hint=_POINT)
    gate = _word(cursor, GATES, _POINT)
    cursor.expect("for", hint=_POINT)
    audiences = parse_audiences(cursor)
    head = cursor.since(start)
    rows = _rows(cursor)
    return law_syntax.LawPoint(number, name, fields, source, basis, gate, audiences, rows, head)


def _rows(cursor: Cursor) -> tuple[law_syntax.LawRow, ...]:
    cursor.expect("{", hint=_POINT)
    rows: dict[str, law_syntax.LawRow] = {}
    while cursor.take("}") is None:
        row = _row(cursor)
        if row.battery_class in rows:
            raise doubled(f"two rows of {quoted(row.battery_class)}", row.span)
        rows[row.battery_class] = row
    cursor.take(";")
    return tuple(rows.values())


def _paths(cursor: Cursor) -> tuple[tuple[str, Span], ...]:
    cursor.expect("(", hint=_POINT)
    found: dict[str, Span] = {}
    while not cursor.at(")"):
        path, span = parse_path(cursor)
        if path in found:
            raise doubled(f"{quoted(path)} twice", span)
        found[path] = span
        if cursor.take(",") is None:
            break
    cursor.expect(")", hint=_POINT)
    return tuple(found.items())


def _row(cursor: Cursor) -> law_syntax.LawRow:
    """lawRow = NAME ":" word [ "until" since "then" word ] [ "when" condition ] ";" ;
    word = "required" | "optional" | "not_yet" | "not" ;
    """
    start = cursor.token
    name = parse_name(cursor, "a class of batteries, or '}'", hint=_ROW)
    cursor.expect(":", hint=_ROW)
    before = then = Word(_word(cursor, Word, _ROW))
    since = None
    if cursor.take("until"):
        since = _since(cursor)
        cursor.expect("then", hint=_ROW)
        then = Word(_word(cursor, Word, _ROW))
    condition = None
    if cursor.at("when"):
        if then not in {Word.REQUIRED, Word.OPTIONAL}:
            raise cursor.unexpected("';'", hint="only what is required or optional can have a condition")
        cursor.next()
        condition = _any(cursor)
    cursor.expect(";", hint=_ROW)
    return law_syntax.LawRow(name.name, before, then, since, condition, cursor.since(start))


def _since(cursor: Cursor) -> Since:
    """since = day | "max" "(" day "," NAME "+" INTEGER "months" ")" ;"""
    if cursor.take("max") is None:
        return Since(_day(cursor, _SINCE))
    cursor.expect("(", hint=_SINCE)
    day = _day(cursor, _SINCE)
    cursor.expect(",", hint=_SINCE)
    act = parse_name(cursor, "the name of an act", hint=_SINCE)
    cursor.expect("+", hint=_SINCE)
    token = cursor.expect_kind(Kind.INTEGER, "a number of months", hint=_SINCE)
    months = integer(token)
    if months > _MOST_MONTHS:
        what, hint = f"{quoted(token.text)} months", "write fewer"
        raise limit_exceeded(what, _MOST_MONTHS, token.span, hint=hint)
    cursor.expect("months", hint=_SINCE)
    cursor.expect(")", hint=_SINCE)
    return Since(day, act.name, months)


def _day(cursor: Cursor, form: str) -> date:
    """day = INTEGER "-" INTEGER "-" INTEGER ;"""
    start = cursor.expect_kind(Kind.INTEGER, "a day such as 2027-02-18", hint=form)
    parts = [start.text]
    for _ in range(2):
        cursor.expect("-", hint=form)
        parts.append(cursor.expect_kind(Kind.INTEGER, "a day such as 2027-02-18", hint=form).text)
    found = iso_date("-".join(parts))
    if found is None:
        message = f"{quoted('-'.join(parts))} is not a date"
        raise RuleError("RULE_PARSE_ERROR", message, cursor.since(start), hint="write it as 2027-02-18")
    return found


def _any(cursor: Cursor) -> Condition:
    """condition = all { "||" all } ;"""
    with cursor.deeper():
        found = [_all(cursor)]
        while cursor.take("||"):
            found.append(_all(cursor))
        return found[0] if len(found) == 1 else AnyOf(tuple(found))


def _all(cursor: Cursor) -> Condition:
    """all = holds { "&&" holds } ;"""
    found = [_holds(cursor)]
    while cursor.take("&&"):
        found.append(_holds(cursor))
    return found[0] if len(found) == 1 else AllOf(tuple(found))


def _holds(cursor: Cursor) -> Condition:
    """holds = "!" holds | NAME | "(" condition ")" ;"""
    if cursor.take("!"):
        with cursor.deeper():
            return Not(_holds(cursor))
    if cursor.take("("):
        inner = _any(cursor)
        cursor.expect(")", hint="close what was opened")
        return inner
    hint = "a condition is made of names, ! && || and parentheses: cycle_use && !external_storage_only"
    return Holds(parse_name(cursor, "the name of a condition", hint=hint).name)


def _word(cursor: Cursor, known: Iterable[str], form: str) -> str:
    words = [str(each) for each in known]
    token = cursor.expect_kind(Kind.NAME, f"one of {', '.join(words)}", hint=form)
    if token.text not in words:
        hint = did_you_mean(token.text, words, f"known are {', '.join(words)}")
        raise RuleError("RULE_PARSE_ERROR", f"unknown word {quoted(token.text)}", token.span, hint=hint)
    return token.text
