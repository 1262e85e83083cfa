"""Tokens -> expressions; one function per rule of the grammar."""

from decimal import Decimal

from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_types import (
    KEYWORDS,
    check_scale,
    parse_date,
    parse_number,
    parse_text,
    parse_unit,
)
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.tokens import Kind

_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"))
_STRENGTH = {operator: strength for strength, operators in enumerate(_LEVELS) for operator in operators}
_COMPARISON = 2


def parse_expression(cursor: Cursor) -> syntax.Expression:
    """expression = { statement } ( conditional | or ) ;
    statement = let | assertion | citation ;
    """
    with cursor.deeper():
        start = cursor.token
        statements: list[syntax.Statement] = []
        while cursor.at("let", "assert", "cite"):
            statements.append(_statement(cursor))
        result = _conditional(cursor) if cursor.at("if") else _operators(cursor, 0)
        if not statements:
            return result
        return syntax.Block(tuple(statements), result, cursor.since(start))


def _statement(cursor: Cursor) -> syntax.Statement:
    """let = "let" NAME "=" expression ";" ;
    assertion = "assert" "(" expression "," TEXT "," TEXT ")" ";" ;
    citation = "cite" "(" TEXT ")" ";" ;
    """
    start = cursor.next()
    found: syntax.Statement
    if start.text == "let":
        name = parse_name(cursor, "a name")
        cursor.expect("=")
        found = syntax.Let(name, parse_expression(cursor), cursor.since(start))
    elif start.text == "assert":
        cursor.expect("(")
        condition = parse_expression(cursor)
        cursor.expect(",")
        code = parse_text(cursor, "a code in quotes")
        cursor.expect(",")
        message = parse_text(cursor, "a message in quotes")
        cursor.expect(")")
        found = syntax.Assertion(condition, code, message, cursor.since(start))
    else:
        cursor.expect("(")
        found = syntax.Citation(parse_text(cursor, "what is cited, in quotes"), cursor.since(start))
        cursor.expect(")")
    cursor.expect(";", hint=f"a '{start.text}' is followed by ';' and the expression it belongs to")
    return found


def _conditional(cursor: Cursor) -> syntax.Expression:
    """conditional = "if" "(" expression ")" "then" expression "else" expression ;"""
    start = cursor.expect("if")
    cursor.expect("(", hint="the condition stands in parentheses: if (c) then a else b")
    condition = parse_expression(cursor)
    cursor.expect(")")
    cursor.expect("then")
    then = parse_expression(cursor)
    cursor.expect("else", hint="an 'if' always has an 'else'")
    otherwise = parse_expression(cursor)
    return syntax.Conditional(condition, then, otherwise, cursor.since(start))


def _operators(cursor: Cursor, weakest: int) -> syntax.Expression:
    """or = and { "||" and } ;   and = comparison { "&&" comparison } ;
    comparison = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ] ;
    sum = product { ( "+" | "-" ) product } ;   product = unary { ( "*" | "/" ) unary } ;

    By precedence climbing, so that a pair of parentheses costs four frames of Python's stack and not nine.
    """
    start = cursor.token
    left = _unary(cursor)
    level = _level(cursor)
    while level >= weakest:
        rest = []
        here = level
        while level == here:
            operator = cursor.next()
            rest.append((operator.text, operator.span, _operators(cursor, here + 1)))
            level = _level(cursor)
            if level == here == _COMPARISON:
                raise RuleError(
                    "RULE_PARSE_ERROR",
                    "comparisons cannot be chained",
                    cursor.token.span,
                    hint="join two with &&",
                )
        left = syntax.Chain(left, tuple(rest), cursor.since(start))
    return left


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
    """primary = literal | NAME | call | "(" expression ")" ;
    literal = "true" | "false" | "none" | INTEGER | DECIMAL | TEXT | "date" "(" TEXT ")"
            | "qty" "(" number "," unit ")" ;
    call = NAME "(" [ argument { "," argument } ] ")" ;
    """
    token = cursor.token
    match token.kind:
        case Kind.INTEGER:
            return syntax.Literal(int(cursor.next().text), token.span)
        case Kind.DECIMAL:
            check_scale(cursor, token.text, token.span)
            return syntax.Literal(Decimal(cursor.next().text), token.span)
        case Kind.TEXT:
            return syntax.Literal(cursor.next().text, token.span)
        case Kind.NAME:
            return _word(cursor)
        case _:
            cursor.expect("(", hint="an expression is missing here")
            inner = parse_expression(cursor)
            cursor.expect(")")
            return inner


def _word(cursor: Cursor) -> syntax.Expression:
    token = cursor.next()
    if token.text in {"true", "false"}:
        return syntax.Literal(token.text == "true", token.span)
    if token.text == "none":
        return syntax.Literal(None, token.span)
    if token.text == "date":
        found = parse_date(cursor)
        return syntax.Literal(found, cursor.since(token))
    if token.text == "qty":
        cursor.expect("(")
        value = parse_number(cursor)
        cursor.expect(",")
        unit = parse_unit(cursor)
        cursor.expect(")")
        return syntax.QuantityLiteral(Decimal(value), unit, cursor.since(token))
    if token.text in KEYWORDS and not (token.text == "field" and cursor.at("(")):
        raise RuleError("RULE_PARSE_ERROR", f"'{token.text}' cannot stand here", token.span)
    if cursor.take("(") is None:
        return syntax.Name(token.text, token.span)
    arguments: list[syntax.Argument] = []
    while not cursor.at(")"):
        arguments.append(_argument(cursor))
        if cursor.take(",") is None:
            break
    cursor.expect(")")
    return syntax.Call(token.text, tuple(arguments), token.span, cursor.since(token))


def _argument(cursor: Cursor) -> syntax.Argument:
    """argument = lambda | expression ;
    lambda = NAME "=>" expression | "(" NAME "," NAME ")" "=>" expression ;
    """
    start = cursor.token
    if start.kind is Kind.NAME and cursor.ahead(1).text == "=>":
        parameters = [parse_name(cursor, "a parameter")]
    elif cursor.at("(") and cursor.ahead(2).text == "," and cursor.ahead(5).text == "=>":
        cursor.next()
        parameters = [parse_name(cursor, "a parameter")]
        cursor.expect(",")
        parameters.append(parse_name(cursor, "a parameter"))
        cursor.expect(")")
    else:
        return parse_expression(cursor)
    cursor.expect("=>")
    return syntax.Lambda(tuple(parameters), parse_expression(cursor), cursor.since(start))


def parse_name(cursor: Cursor, what: str) -> syntax.Name:
    token = cursor.expect_kind(Kind.NAME, what)
    if token.text in KEYWORDS:
        raise RuleError("RULE_PARSE_ERROR", f"'{token.text}' is a word of the language", token.span)
    return syntax.Name(token.text, token.span)
