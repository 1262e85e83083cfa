"""The fields of a passport as rows: value, unit, why there is none, from where and for whom. Pure."""

from collections.abc import Iterator, Mapping

import msgspec

from bpc_worker.web.dashboard import shown

_LONGEST = 500


class FieldLine(msgspec.Struct, frozen=True):
    path: str
    value: str
    unit: str
    reason: str
    audiences: str
    is_hidden: bool


class Change(msgspec.Struct, frozen=True):
    path: str
    before: str
    after: str


class Step(msgspec.Struct, frozen=True):
    depth: int
    text: str
    place: str  # in a document, where it is one


def leaves(fields: object, path: str = "") -> Iterator[tuple[str, object]]:
    """By path, as a proof names them: quantities and reasons are leaves."""
    if not isinstance(fields, Mapping) or _is_value(fields):
        yield path, fields
        return
    for name, inner in fields.items():
        yield from leaves(inner, f"{path}.{name}" if path else str(name))


def _is_value(fields: Mapping[str, object]) -> bool:
    return fields.keys() == {"value", "unit"} or {"empty", "reason"} <= fields.keys()


def lines(
    published: Mapping[str, object], audiences: Mapping[str, tuple[str, ...]], *, may_see: bool
) -> list[FieldLine]:
    """Without the right to see values, what is not known to be public is hidden."""
    return [
        _line(path, value, audiences.get(path, ()), may_see=may_see)
        for path, value in leaves(published.get("fields", {}))
        if path
    ]


def _line(path: str, value: object, audiences: tuple[str, ...], *, may_see: bool) -> FieldLine:
    text, unit, reason = _parts(value)
    hidden = not may_see and "public" not in audiences
    return FieldLine(
        path=path,
        value=shown.HIDDEN if hidden and text else text,
        unit=unit,
        reason=reason,
        audiences=", ".join(audiences),
        is_hidden=hidden,
    )


def _parts(value: object) -> tuple[str, str, str]:
    match value:
        case {"value": number, "unit": unit}:
            return plain(number), plain(unit), ""
        case {"empty": kind, "reason": reason, **rest}:
            return "", "", "; ".join([f"{kind}: {reason}", *map(plain, rest.values())])
        case [str(), *_] if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return plain(", ".join(map(str, value))), "", ""
        case _:
            return plain(value), "", ""


def plain(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def changes(
    before: Mapping[str, object], after: Mapping[str, object], public: frozenset[str] | None
) -> list[Change]:
    """What another version says otherwise. `public`: the paths whose values may be seen; None: all."""
    old, new = dict(leaves(before.get("fields", {}))), dict(leaves(after.get("fields", {})))
    return [
        Change(path, _told(old, path, public), _told(new, path, public))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def _told(fields: Mapping[str, object], path: str, public: frozenset[str] | None) -> str:
    if path not in fields:
        return ""
    if public is not None and path not in public:
        return shown.HIDDEN
    text, unit, reason = _parts(fields[path])
    return f"{text} {unit}".strip() or reason


def steps(told: list[str]) -> list[Step]:
    """The lines of an explanation, which are indented by two blanks for each step down."""
    made = []
    for line in told:
        text = line.lstrip(" ")
        depth = (len(line) - len(text)) // 2
        is_place = text.startswith("from ")
        made.append(Step(depth, text, text.removeprefix("from ") if is_place else ""))
    return made
