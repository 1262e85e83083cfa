"""Tokens -> expressions; one function per rule of the grammar."""

from decimal import Decimal

from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_literals import TIMED, parse_severity, parse_timed
from bpc_worker.core.rules.parse_types import (
    KEYWORDS,
    decimal_text,
    doubled,
    integer,
    parse_audiences,
    parse_date,
    parse_number,
    parse_text,
    parse_unit,
)
from bpc_worker.core.rules.source import RuleError, quoted
from bpc_worker.core.rules.tokens import Kind, Token

STATES = "emitCompliance"  # the one call that may say who sees what it states
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"))
_STRENGTH = {operator: strength for strength, operators in enumerate(_LEVELS) for operator in operators}
_COMPARISON = _STRENGTH["=="]


def parse_expression(cursor: Cursor) -> syntax.Expression:
    """expression = { statement } ( conditional | disjunction ) ;"""
    with cursor.deeper():
        start = cursor.token
        statements: list[syntax.Statement] = []
        while cursor.at("let", "assert", "cite") or cursor.sees("usable", "("):
            statements.append(_statement(cursor))
        result = _conditional(cursor) if cursor.at("if") else _operators(cursor, 0)
        if not statements:
            return result
        return syntax.Block(tuple(statements), result, cursor.since(start))


def _statement(cursor: Cursor) -> syntax.Statement:
    """statement = ( let | assertion | usable | citation ) ";" ;"""
    start = cursor.next()
    read = {"let": _let, "assert": _assertion, "usable": _usable, "cite": _citation}[start.text]
    found = read(cursor, start)
    cursor.expect(";", hint=f"after '{start.text}' come ';' and the expression it belongs to")
    return found


def _let(cursor: Cursor, start: Token) -> syntax.Statement:
    """let = "let" NAME "=" expression ;"""
    form = "write let name = value; and then the expression that uses it"
    name = parse_name(cursor, "a name", hint=form)
    cursor.expect("=", hint=form)
    return syntax.Let(name, parse_expression(cursor), cursor.since(start))


def _assertion(cursor: Cursor, start: Token) -> syntax.Statement:
    """assertion = "assert" "(" expression "," TEXT "," TEXT ")" ;"""
    form = 'write assert(condition, "CODE", "message")'
    cursor.expect("(", hint=form)
    condition = parse_expression(cursor)
    cursor.expect(",", hint=form)
    code = parse_text(cursor, "a code in quotes", hint=form)
    cursor.expect(",", hint=form)
    message = parse_text(cursor, "a message in quotes", hint=form)
    cursor.expect(")", hint=form)
    return syntax.Assertion(condition, code, message, cursor.since(start))


def _usable(cursor: Cursor, start: Token) -> syntax.Statement:
    """usable = "usable" "(" expression "," expression ")" ;"""
    form = 'write usable(condition, "what is wrong otherwise")'
    cursor.expect("(", hint=form)
    condition = parse_expression(cursor)
    cursor.expect(",", hint=form)
    detail = parse_expression(cursor)
    cursor.expect(")", hint=form)
    return syntax.Usable(condition, detail, cursor.since(start))


def _citation(cursor: Cursor, start: Token) -> syntax.Statement:
    """citation = "cite" "(" TEXT ")" ;"""
    form = 'write cite("Annex XIII, point 1 (a)")'
    cursor.expect("(", hint=form)
    text = parse_text(cursor, "what is cited, in quotes", hint=form)
    cursor.expect(")", hint=form)
    return syntax.Citation(text, cursor.since(start))


def _conditional(cursor: Cursor) -> syntax.Expression:
    """conditional = "if" "(" expression ")" "then" expression "else" expression ;"""
    start = cursor.next()
    form = "the condition stands in parentheses: if (c) then a else b"
    cursor.expect("(", hint=form)
    condition = parse_expression(cursor)
    cursor.expect(")", hint=form)
    cursor.expect("then", hint=form)
    then = parse_expression(cursor)
    cursor.expect("else", hint="an 'if' always has an 'else'")
    otherwise = parse_expression(cursor)
    return syntax.Conditional(condition, then, otherwise, cursor.since(start))


def _operators(cursor: Cursor, weakest: int) -> syntax.Expression:
    """disjunction = conjunction { "||" conjunction } ;
    conjunction = comparison { "&&" comparison } ;
    comparison = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ] ;
    sum = product { ( "+" | "-" ) product } ;
    product = unary { ( "*" | "/" ) unary } ;

    Five rules in one, by precedence climbing, so that a pair of parentheses costs a few frames of Python's
    stack and not ten.
    """
    start = cursor.token
    left = _unary(cursor)
    while (level := _level(cursor)) >= weakest:
        with cursor.deeper(levels=min(weakest, 1)):  # operators inside operators are nesting too
            rest = _links(cursor, level)
        left = syntax.Chain(left, rest, cursor.since(start))
    return left


def _links(cursor: Cursor, level: int) -> tuple[syntax.Link, ...]:
    rest: list[syntax.Link] = []
    while _level(cursor) == level:
        operator = cursor.next()
        rest.append((operator.text, operator.span, _operators(cursor, level + 1)))
    if level == _COMPARISON and len(rest) > 1:
        [_, (_, span, _), *_] = rest
        hint = "join two of them with &&"
        raise RuleError("RULE_PARSE_ERROR", "comparisons cannot be chained", span, hint=hint)
    return tuple(rest)


def _level(cursor: Cursor) -> int:
    """How strongly the operator at the cursor binds; -1 when there is none."""
    return _STRENGTH.get(cursor.token.text, -1) if cursor.token.kind is Kind.SYMBOL else -1


def _unary(cursor: Cursor) -> syntax.Expression:
    """unary = ( "!" | "-" ) unary | primary ;"""
    if not cursor.at("!", "-"):
        return _primary(cursor)
    operator = cursor.next()
    with cursor.deeper():
        operand = _unary(cursor)
    return syntax.Unary(operator.text, operand, cursor.since(operator))


def _primary(cursor: Cursor) -> syntax.Expression:
    """primary = literal | timed | record | call | NAME | "(" expression ")" ;"""
    token = cursor.token
    if cursor.take("("):
        inner = parse_expression(cursor)
        cursor.expect(")", hint="close what was opened, or write an operator before what follows")
        return inner
    if token.kind is not Kind.NAME or token.text in _LITERALS:
        return _literal(cursor)
    if token.text in TIMED and cursor.sees(None, "("):
        return parse_timed(cursor)
    if cursor.sees(None, "("):
        return _record(cursor) if token.text == "record" else _call(cursor)
    if token.text in KEYWORDS:
        raise _misplaced(token)
    cursor.next()
    return syntax.Name(token.text, token.span)


_AN_EXPRESSION = "write a value, a name, a function or something in parentheses"
_LITERALS = frozenset({"true", "false", "none", "date", "qty"})


def _literal(cursor: Cursor) -> syntax.Expression:
    """literal = "true" | "false" | "none" | INTEGER | DECIMAL | TEXT | "date" "(" TEXT ")"
    | "qty" "(" number "," unit ")" ;
    """
    token = cursor.token
    if token.kind in {Kind.SYMBOL, Kind.END}:
        raise cursor.unexpected("an expression", hint=_AN_EXPRESSION)
    cursor.next()
    match token.kind, token.text:
        case Kind.INTEGER, _:
            return syntax.Literal(integer(token), token.span)
        case Kind.DECIMAL, _:
            return syntax.Literal(Decimal(decimal_text(cursor, token)), token.span)
        case Kind.TEXT, text:
            return syntax.Literal(text, token.span)
        case _, "date":
            return syntax.Literal(parse_date(cursor), cursor.since(token))
        case _, "qty":
            return _quantity(cursor, token)
        case _, word:
            return syntax.Literal({"true": True, "false": False, "none": None}[word], token.span)


def _quantity(cursor: Cursor, start: Token) -> syntax.Expression:
    form = "write qty(1.5, kg)"
    cursor.expect("(", hint=form)
    value = parse_number(cursor)
    cursor.expect(",", hint=form)
    unit = parse_unit(cursor)
    cursor.expect(")", hint=form)
    return syntax.QuantityLiteral(value, unit, cursor.since(start))


def _record(cursor: Cursor) -> syntax.Expression:
    """record = "record" "(" [ NAME ":" expression { "," NAME ":" expression } [ "," ] ] ")" ;"""
    start, _ = cursor.next(), cursor.next()
    form = "write record(name: value, …)"
    members: dict[str, syntax.Expression] = {}
    while not cursor.at(")"):
        name = cursor.expect_kind(Kind.NAME, "the name of a member", hint=form)
        if name.text in members:
            raise doubled(f"two members {quoted(name.text)}", name.span)
        cursor.expect(":", hint=form)
        members[name.text] = parse_expression(cursor)
        if cursor.take(",") is None:
            break
    cursor.expect(")", hint=form)
    return syntax.RecordLiteral(tuple(members.items()), cursor.since(start))


def _call(cursor: Cursor) -> syntax.Expression:
    """call = NAME "(" [ argument { "," argument } [ "," ] ] ")" [ "severity" severity ]
    [ "for" audiences ] ;
    """
    name = cursor.next()
    if name.text in KEYWORDS and name.text != "field":
        raise _misplaced(name)
    cursor.next()
    arguments: list[syntax.Argument] = []
    while not cursor.at(")"):
        arguments.append(_argument(cursor))
        if cursor.take(",") is None:
            break
    cursor.expect(")", hint="close what was opened; between arguments stands ','")
    states = name.text == STATES
    severity = parse_severity(cursor) if states and cursor.take("severity") else None
    audiences = parse_audiences(cursor) if states and cursor.take("for") else None
    return syntax.Call(name.text, tuple(arguments), name.span, cursor.since(name), audiences, severity)


def _argument(cursor: Cursor) -> syntax.Argument:
    """argument = lambda | expression ;
    lambda = ( NAME | "(" NAME "," NAME ")" ) "=>" expression ;
    """
    start = cursor.token
    if cursor.sees(None, "=>"):
        parameters = [_parameter(cursor)]
    elif cursor.sees("(", None, ",", None, ")", "=>"):
        cursor.next()
        parameters = [_parameter(cursor)]
        cursor.next()
        parameters.append(_parameter(cursor))
        cursor.next()
    else:
        return parse_expression(cursor)
    cursor.next()
    return syntax.Lambda(tuple(parameters), parse_expression(cursor), cursor.since(start))


def _parameter(cursor: Cursor) -> syntax.Name:
    return parse_name(cursor, "a parameter", hint="a lambda is written x => … or (acc, x) => …")


def parse_name(cursor: Cursor, what: str, *, hint: str) -> syntax.Name:
    token = cursor.expect_kind(Kind.NAME, what, hint=hint)
    if token.text in KEYWORDS:
        raise _reserved(token, "choose another name")
    return syntax.Name(token.text, token.span)


def _misplaced(token: Token) -> RuleError:
    """A word where an expression is wanted."""
    bracket = token.text in {"let", "if", "assert", "cite"}
    return _reserved(token, f"put it in parentheses: ({token.text} …)" if bracket else _AN_EXPRESSION)


def _reserved(token: Token, hint: str) -> RuleError:
    message = f"'{token.text}' is a word of the language and cannot stand here"
    return RuleError("RULE_PARSE_ERROR", message, token.span, hint=hint)
