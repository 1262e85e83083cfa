"""Rule text -> tokens."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from bpc_worker.core.rules.source import Limits, RuleError, Span, limit_exceeded, quoted


class Kind(StrEnum):
    NAME = "name"
    INTEGER = "integer"
    DECIMAL = "decimal"
    TEXT = "text"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    kind: Kind
    text: str  # of a TEXT token: the characters it stands for
    span: Span


_TOKEN = re.compile(
    r"""
      (?P<blank>    [ \t\r\n]++ | --[^\n]*+ )
    | (?P<decimal>  [0-9]++\.[0-9]++ )
    | (?P<integer>  [0-9]++ )
    | (?P<name>     [A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<text>     "(?:[^"\\\n]|\\.)*+" )
    | (?P<symbol>   => | == | != | <= | >= | && | \|\| | [-+*/!<>=(){}\[\],;:.] )
    """,
    re.VERBOSE,
)
_KINDS = {kind.value: kind for kind in Kind}
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)")
# What cannot be stored, and what makes a text read otherwise than it is: controls, and marks of direction.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def tokenize(source: str, limits: Limits) -> list[Token]:
    r"""NAME = ( letter | "_" ) { letter | digit | "_" } ;
    INTEGER = digit { digit } ;
    DECIMAL = digit { digit } "." digit { digit } ;
    TEXT = '"' { character | escape } '"' ;
    escape = '\"' | '\\' | '\n' | '\t' ;
    comment = "--" { character } ;

    Blanks, tabs, line ends and comments may stand between tokens; a text or a comment ends on its line.
    """
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > limits.source_bytes:
        raise limit_exceeded(f"the rule text has {size} bytes", limits.source_bytes)
    if found := _FORBIDDEN.search(source):
        message = f"the character U+{ord(found[0]):04X} cannot stand in a rule text"
        hint = "remove it: what you read would not be what is meant"
        raise RuleError("RULE_PARSE_ERROR", message, Span(*found.span()), hint=hint)
    tokens: list[Token] = []
    for token in _tokens(source, limits):
        if len(tokens) >= limits.nodes:
            raise limit_exceeded(f"more than {limits.nodes} words and signs", limits.nodes, token.span)
        tokens.append(token)
    tokens.append(Token(Kind.END, "", Span(len(source), len(source))))
    return tokens


def _tokens(source: str, limits: Limits) -> Iterator[Token]:
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise _unreadable(source, position)
        span = Span(position, match.end())
        position = span.end
        kind = _KINDS.get(match.lastgroup or "")
        if kind is None:
            continue
        text = match[0]
        if kind is Kind.TEXT:
            text = _unescaped(text, span)
        elif len(text) > limits.digits and kind in {Kind.INTEGER, Kind.DECIMAL}:
            digits = len(text) - text.count(".")
            if digits > limits.digits:
                what = f"a number of {digits} digits"
                raise limit_exceeded(what, limits.digits, span, hint="write fewer digits")
        yield Token(kind, text, span)


def _unescaped(literal: str, span: Span) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            place = Span(span.start + 1 + match.start(), span.start + 1 + match.end())
            hint = 'known are \\" \\\\ \\n \\t'
            raise RuleError("RULE_PARSE_ERROR", f"unknown escape {quoted(match[0])}", place, hint=hint)
        return _ESCAPES[match[1]]

    return _ESCAPE.sub(one, literal[1:-1]) if "\\" in literal else literal[1:-1]


_HINTS = {
    "&": "write &&",
    "|": "write ||",
    "%": "percent(part, whole) gives a share",
    "'": 'texts stand in double quotes: "…"',
    "\ufeff": "save the file without a byte order mark",
}


def _unreadable(source: str, position: int) -> RuleError:
    character, span = source[position], Span(position, position + 1)
    if character == '"':
        message, hint = "this text does not end on its line", 'close it with "'
        return RuleError("RULE_PARSE_ERROR", message, span, hint=hint)
    hint = _HINTS.get(character, "remove it, or put it in double quotes if it is part of a text")
    return RuleError("RULE_PARSE_ERROR", f"unexpected character {quoted(character)}", span, hint=hint)
