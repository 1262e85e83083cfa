"""What differs between two rule texts, as their author means it: spaces and comments do not count."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from bpc_worker.core.base.audience import NOBODY
from bpc_worker.core.rules import law_syntax
from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.source import Limits, Span
from bpc_worker.core.rules.tokens import tokenize
from bpc_worker.core.rules.types import show

_KINDS = ("audiences", "law", "field", "table", "test")


@dataclass(frozen=True, slots=True)
class Change:
    """One aspect of something: what it was, what it is; None where there is none."""

    aspect: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    kind: str  # audiences | law | field | table | test
    name: str
    state: str  # added | removed | changed
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class _Written:
    words: tuple[str, ...]
    shown: str = field(compare=False)


_Aspects = Mapping[str, _Written]


def diff(old: str, new: str) -> list[Entry]:
    """Fields, tables and tests added, removed or changed; RuleError when a text cannot be parsed."""
    before, after = _aspects(old), _aspects(new)
    found = []
    for kind, name in dict.fromkeys([*before, *after]):
        was, now = before.get((kind, name), {}), after.get((kind, name), {})
        changes = tuple(
            Change(aspect, _shown(was.get(aspect)), _shown(now.get(aspect)))
            for aspect in dict.fromkeys([*was, *now])
            if was.get(aspect) != now.get(aspect)
        )
        if changes:
            state = "added" if not was else "changed" if now else "removed"
            found.append(Entry(kind, name, state, changes))
    return sorted(found, key=lambda entry: _KINDS.index(entry.kind))


def _shown(written: _Written | None) -> str | None:
    return None if written is None else written.shown


def _aspects(source: str) -> dict[tuple[str, str], _Aspects]:
    """What there is to compare about everything in the text."""
    module, text = parse(source), _Text(source)
    found: dict[tuple[str, str], _Aspects] = {}
    for each in module.fields:
        found["field", each.path] = {
            "type": _plain(show(each.type)),
            "audiences": _plain(", ".join(each.audiences) or NOBODY),
            "expression": text.of(each.body.span),
        }
    if module.audiences is not None:
        found["audiences", "declared"] = {"names": _plain(", ".join(module.audiences))}
    for table in module.tables:
        rows = {f'row "{key}"': text.of(value.span) for key, value in table.rows}
        mark = {"draft": _plain("draft")} if table.draft else {}
        found["table", table.name] = {"type": _plain(show(table.type)), **mark, **rows}
    if module.law is not None:
        found["law", "list"] = {"title": _plain(module.law.title)}
        found |= {("law", f"act {act.name}"): {"text": text.of(act.span)} for act in module.law.acts}
        found |= {("law", f"point {point.id}"): _point(point, text) for point in module.law.points}
    for example in module.examples:
        found["test", example.name] = {"text": text.of(example.span)}
    for claim in module.properties:
        found["test", claim.name] = {"text": text.of(claim.span)}
    return found


def _point(point: law_syntax.LawPoint, text: "_Text") -> _Aspects:
    rows = {f"row {row.battery_class}": text.of(row.span) for row in point.rows}
    return {"head": text.of(point.span), **rows}


def _plain(text: str) -> _Written:
    return _Written((text,), text)


class _Text:
    """A rule text by its words."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._spans = [token.span for token in tokenize(source, Limits())]

    def of(self, span: Span) -> _Written:
        first = bisect_left(self._spans, span.start, key=lambda each: each.start)
        last = bisect_left(self._spans, span.end, key=lambda each: each.start)
        words, shown = [], ""
        end = span.start
        for each in self._spans[first:last]:
            words.append(self._source[each.start : each.end])
            shown += (" " if each.start > end else "") + words[-1]
            end = each.end
        return _Written(tuple(words), shown)
