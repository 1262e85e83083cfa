"""A place in the list of tokens, and the words for what was expected there."""

from collections.abc import Iterator
from contextlib import contextmanager

from bpc_worker.core.rules.source import Limits, RuleError, Span, limit_exceeded, quoted
from bpc_worker.core.rules.tokens import Kind, Token

NEST_LESS = "give inner parts a name: let x = …; or a field of their own"
_HINTS = {"=": "to compare, write ==", "=>": "a lambda is written x => … or (acc, x) => …"}


class Cursor:
    def __init__(self, tokens: list[Token], limits: Limits) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0
        self.limits = limits
        self.token = tokens[0]  # the next one

    @property
    def previous(self) -> Token:
        return self._tokens[max(0, self._position - 1)]

    def next(self) -> Token:
        """Step over the next token; never over the end, which is no token that anybody looks for."""
        token = self.token
        self._position += 1
        self.token = self._tokens[self._position]
        return token

    def sees(self, *texts: str | None) -> bool:
        """Whether these symbols and words come next; None stands for any name."""
        ahead = self._tokens[self._position : self._position + len(texts)]
        return len(ahead) == len(texts) and all(map(_fits, ahead, texts))

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these symbols or words."""
        token = self.token
        return token.text in texts and (token.kind is Kind.SYMBOL or token.kind is Kind.NAME)

    def take(self, *texts: str) -> Token | None:
        return self.next() if self.at(*texts) else None

    def expect(self, text: str, *, hint: str) -> Token:
        if not self.at(text):
            ended = text in {")", ",", ";"} and self.at(*_HINTS)  # something went on that ought to have ended
            raise self.unexpected(f"'{text}'", hint=_HINTS[self.token.text] if ended else hint)
        return self.next()

    def expect_kind(self, kind: Kind, what: str, *, hint: str) -> Token:
        if self.token.kind is not kind:
            raise self.unexpected(what, hint=hint)
        return self.next()

    def unexpected(self, wanted: str, *, hint: str) -> RuleError:
        token = self.token
        found = "the end of the text" if token.kind is Kind.END else quoted(token.text)
        return RuleError("RULE_PARSE_ERROR", f"expected {wanted}, found {found}", token.span, hint=hint)

    def since(self, start: Token) -> Span:
        return start.span.to(self.previous.span)

    @contextmanager
    def deeper(self, *, levels: int = 1) -> Iterator[None]:
        """One thing inside another; Python's own stack is never the limit."""
        if self._depth > self.limits.nesting:
            raise limit_exceeded(
                f"nested {self._depth} levels deep", self.limits.nesting, self.token.span,
                hint=NEST_LESS,
            )  # fmt: skip
        self._depth += levels
        yield
        self._depth -= levels


def _fits(token: Token, text: str | None) -> bool:
    if text is None:
        return token.kind is Kind.NAME
    return token.kind in {Kind.NAME, Kind.SYMBOL} and token.text == text
