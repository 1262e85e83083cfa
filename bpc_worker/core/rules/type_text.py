"""The text of a type, as a proof holds it, back to the type: also the inner types that nobody writes."""

import re

from bpc_worker.core.base.numbers import MAX_SCALE
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import types
from bpc_worker.core.rules.source import MAX_NESTING, RuleError, unchecked
from bpc_worker.core.rules.types import MAX_PARTS, Type

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[(),:]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCALES = frozenset(map(str, range(MAX_SCALE + 1)))
_NAMED: dict[str, Type] = {
    "Bool": types.BOOL, "Int": types.INT, "Text": types.TEXT, "Date": types.DATE, "Month": types.MONTH,
    "Moment": types.MOMENT, "Texts": types.TEXTS, "Num": types.NUM,
    "Json": types.JSON, "Fact": types.FACT, "none": types.NONE, "empty": types.EMPTY,
}  # fmt: skip
_INNER = frozenset({types.NUM, types.JSON, types.FACT, types.NONE, types.EMPTY})


def type_from_text(text: str) -> Type:
    """The type; RuleError for any text that `show` does not write."""
    reader = _Reader(_WORD.findall(text))
    found = reader.type(0)
    if types.show(found) != text:
        raise wrong_type()
    return found


def declared_type(text: str) -> Type:
    """The type of a field: one that an author can write."""
    found = type_from_text(text)
    if types.contains(found, lambda kind: kind in _INNER):
        raise wrong_type()
    return found


def wrong_type() -> RuleError:
    return unchecked("this is not the text of a type")


class _Reader:
    def __init__(self, words: list[str]) -> None:
        self._left = list(reversed(words))
        self._parts = 0

    def _take(self) -> str:
        if not self._left:
            raise wrong_type()
        return self._left.pop()

    def _expect(self, wanted: str) -> None:
        if self._take() != wanted:
            raise wrong_type()

    def _one_of(self, known: frozenset[str]) -> str:
        word = self._take()
        if word not in known:
            raise wrong_type()
        return word

    def type(self, depth: int) -> Type:
        self._parts += 1
        if depth > MAX_NESTING or self._parts > MAX_PARTS:
            raise wrong_type()
        name = self._take()
        if name in _NAMED:
            return _NAMED[name]
        self._expect("(")
        found = self._composed(name, depth + 1)
        self._expect(")")
        return found

    def _composed(self, name: str, depth: int) -> Type:
        match name:
            case "Dec":
                return types.DecType(int(self._one_of(_SCALES)))
            case "Qty":
                return types.QtyType(self._one_of(frozenset(UNITS)))
            case "Opt":
                return types.OptType(self.type(depth))
            case "List":
                return types.ListType(self.type(depth))
            case "Map":
                self._expect("Text")
                self._expect(",")
                return types.MapType(self.type(depth))
            case "Record":
                return self._record(depth)
            case _:
                raise wrong_type()

    def _record(self, depth: int) -> Type:
        members: dict[str, Type] = {}
        while self._left and self._left[-1] != ")":
            if members:
                self._expect(",")
            name = self._take()
            if not _NAME.fullmatch(name) or name in members:
                raise wrong_type()
            self._expect(":")
            members[name] = self.type(depth)
        return types.record(members)
