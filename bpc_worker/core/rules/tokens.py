"""Rule text -> tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bpc_worker.core.rules.source import Limits, RuleError, Span, limit_exceeded


class Kind(StrEnum):
    NAME = "name"
    INTEGER = "integer"
    DECIMAL = "decimal"
    TEXT = "text"
    SYMBOL = "symbol"
    END = "end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str  # of a TEXT token: the characters it stands for
    span: Span


_TOKEN = re.compile(
    r"""
      (?P<blank>    [ \t\r\n]+ | --[^\n]* )
    | (?P<decimal>  [0-9]+\.[0-9]+ )
    | (?P<integer>  [0-9]+ )
    | (?P<name>     [A-Za-z_][A-Za-z0-9_]* )
    | (?P<text>     "(?:[^"\\\n]|\\.)*+" )
    | (?P<symbol>   => | == | != | <= | >= | && | \|\| | [-+*/!<>=(){}\[\],;:.] )
    """,
    re.VERBOSE,
)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def tokenize(source: str, limits: Limits) -> list[Token]:
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > limits.source_bytes:
        raise limit_exceeded(f"the rule text has {size} bytes", limits.source_bytes)
    tokens = [*_tokens(source, limits), Token(Kind.END, "", Span(len(source), len(source)))]
    if len(tokens) > limits.nodes:
        raise limit_exceeded(
            f"the rule text has {len(tokens)} words", limits.nodes, tokens[limits.nodes].span
        )
    return tokens


def _tokens(source: str, limits: Limits) -> Iterator[Token]:
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise _unreadable(source, position)
        span = Span(position, match.end())
        position = match.end()
        group, text = match.lastgroup, match.group()
        if group == "blank":
            continue
        if group in {"integer", "decimal"} and len(text) > limits.digits:
            raise limit_exceeded(f"a number of {len(text)} digits", limits.digits, span)
        if group == "text":
            text = _unescaped(text, span)
        yield Token(Kind(str(group)), text, span)


def _unescaped(literal: str, span: Span) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            place = Span(span.start + match.start() + 1, span.start + match.end() + 1)
            raise RuleError(
                "RULE_PARSE_ERROR", f"unknown escape \\{match[1]}", place, hint='known are \\" \\\\ \\n \\t'
            )
        return _ESCAPES[match[1]]

    text = _ESCAPE.sub(one, literal[1:-1])
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise RuleError("RULE_PARSE_ERROR", "this text has a character that cannot be stored", span)
    return text


def _unreadable(source: str, position: int) -> RuleError:
    span = Span(position, position + 1)
    if source[position] == '"':
        return RuleError(
            "RULE_PARSE_ERROR", "this text does not end on its line", span, hint='close it with "'
        )
    if source[position] in "&|":
        twice = source[position] * 2
        return RuleError("RULE_PARSE_ERROR", f"unexpected {source[position]!r}", span, hint=f"write {twice}")
    return RuleError("RULE_PARSE_ERROR", f"unexpected character {source[position]!r}", span)
