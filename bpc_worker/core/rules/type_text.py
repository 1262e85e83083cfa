"""The text of a type, as a proof holds it, back to the type: also the inner types that nobody writes."""

import re

from bpc_worker.core.rules import types
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.types import Type

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[(),:]")
_NAMED: dict[str, Type] = {
    "Bool": types.BOOL, "Int": types.INT, "Text": types.TEXT, "Date": types.DATE, "Num": types.NUM,
    "Json": types.JSON, "Fact": types.FACT, "none": types.NONE, "empty": types.EMPTY,
}  # fmt: skip
_DEEPEST = 64


def type_from_text(text: str) -> Type:
    reader = _Reader(_WORD.findall(text))
    found = reader.type(0)
    if reader.left or types.show(found) != text:
        raise reader.wrong()
    return found


class _Reader:
    def __init__(self, words: list[str]) -> None:
        self.left = list(reversed(words))

    def wrong(self) -> RuleError:
        return RuleError("RULE_TYPE_ERROR", "this is not the text of a type")

    def take(self, wanted: str | None = None) -> str:
        if not self.left or (wanted is not None and self.left[-1] != wanted):
            raise self.wrong()
        return self.left.pop()

    def type(self, depth: int) -> Type:
        name = self.take()
        if name in _NAMED:
            return _NAMED[name]
        if depth > _DEEPEST:
            raise self.wrong()
        self.take("(")
        found = self._inner(name, depth + 1)
        self.take(")")
        return found

    def _inner(self, name: str, depth: int) -> Type:
        match name:
            case "Dec":
                digits = self.take()
                if not digits.isdigit() or len(digits) > 4:  # noqa: PLR2004 - no scale is that large
                    raise self.wrong()
                return types.DecType(int(digits))
            case "Qty":
                return types.QtyType(self.take())
            case "Opt":
                return types.OptType(self.type(depth))
            case "List":
                return types.ListType(self.type(depth))
            case "Map":
                self.take("Text")
                self.take(",")
                return types.MapType(self.type(depth))
            case "Record":
                return types.RecordType(tuple(self._fields(depth)))
            case _:
                raise self.wrong()

    def _fields(self, depth: int) -> list[tuple[str, Type]]:
        fields: list[tuple[str, Type]] = []
        while self.left and self.left[-1] != ")":
            if fields:
                self.take(",")
            name = self.take()
            self.take(":")
            fields.append((name, self.type(depth)))
        return fields
