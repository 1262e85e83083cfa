"""A place in the list of tokens, and the words for what was expected there."""

from collections.abc import Iterator
from contextlib import contextmanager

from bpc_worker.core.rules.source import Limits, RuleError, Span, limit_exceeded
from bpc_worker.core.rules.tokens import Kind, Token


class Cursor:
    def __init__(self, tokens: list[Token], limits: Limits) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0
        self.limits = limits

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    @property
    def previous(self) -> Token:
        return self._tokens[max(0, self._position - 1)]

    def next(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self._position += 1
        return token

    def ahead(self, count: int) -> Token:
        return self._tokens[min(self._position + count, len(self._tokens) - 1)]

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these symbols or words."""
        return self.token.kind in {Kind.SYMBOL, Kind.NAME} and self.token.text in texts

    def take(self, *texts: str) -> Token | None:
        return self.next() if self.at(*texts) else None

    def expect(self, text: str, *, hint: str | None = None) -> Token:
        if not self.at(text):
            raise self.unexpected(f"'{text}'", hint=hint)
        return self.next()

    def expect_kind(self, kind: Kind, what: str) -> Token:
        if self.token.kind is not kind:
            raise self.unexpected(what)
        return self.next()

    def unexpected(self, wanted: str, *, hint: str | None = None) -> RuleError:
        token = self.token
        found = "the end of the text" if token.kind is Kind.END else f"'{token.text}'"
        return RuleError("RULE_PARSE_ERROR", f"expected {wanted}, found {found}", token.span, hint=hint)

    def since(self, start: Token) -> Span:
        return start.span.to(self.previous.span)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of nesting; Python's own stack is never the limit."""
        self._depth += 1
        if self._depth > self.limits.nesting:
            raise limit_exceeded(f"nested {self._depth} levels deep", self.limits.nesting, self.token.span)
        yield
        self._depth -= 1
