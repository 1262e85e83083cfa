"""How a field got its value: from the published number down to the facts and where they stand."""

import json
from collections.abc import Iterator, Mapping, Sequence

from bpc_worker.core.base import derivation
from bpc_worker.core.base.proof_text import Step
from bpc_worker.core.proof.verify import VerifiedProof

Sources = Mapping[tuple[str, str], Sequence[str]]  # (fact type, fact key) -> pointers into documents

_LONGEST = 80
_MOST_POINTERS = 20
_HASH_SHOWN = 12


def explain(proved: VerifiedProof, path: str, sources: Sources | None = None) -> list[str]:
    """One line per step, indented under what it gives; a step told already is named, not repeated."""
    if path not in proved.fields:
        raise LookupError(f"no field {path}; there are {', '.join(sorted(proved.fields))}")
    lines: list[str] = []
    told: set[int] = set()
    waiting = [(proved.fields[path].node, 0, "")]
    while waiting:
        number, depth, note = waiting.pop()
        node = proved.nodes[number]
        line = f"{'  ' * depth}{_line(node)}{note}"
        children = _children(node)
        if number in told and children:
            lines.append(f"{line}  (see above)")
            continue
        told.add(number)
        lines.append(line)
        lines += [f"{'  ' * depth}  from {pointer}" for pointer in _pointers(node, sources or {})]
        notes = _notes(node, [proved.nodes[child] for child in children])
        if node.data.get("op") == "missingRequired":  # the fields themselves, not how each came about
            lines += [f"{'  ' * depth}  {_line(proved.nodes[child])}" for child in children]
            continue
        waiting += [
            (child, depth + 1, said) for child, said in reversed(list(zip(children, notes, strict=True)))
        ]
    return lines


def summary(proved: VerifiedProof, path: str, sources: Sources | None = None) -> list[str]:
    """In a few lines: the value, then all below it that is law, field, statement or fact, each once."""
    if path not in proved.fields:
        raise LookupError(f"no field {path}; there are {', '.join(sorted(proved.fields))}")
    lines: dict[str, None] = {}  # in order, each once
    told: set[int] = set()
    first = proved.fields[path].node
    waiting = [first]
    while waiting:
        number = waiting.pop()
        node = proved.nodes[number]
        told.add(number)
        if number == first:
            lines[_line(node)] = None
        elif _is_told(node):
            lines[f"  {_line(node)}"] = None
            lines |= dict.fromkeys(f"    from {pointer}" for pointer in _pointers(node, sources or {}))
        waiting += [child for child in reversed(_children(node)) if child not in told]
    return list(lines)


def _is_told(node: Step) -> bool:
    """Not a step of arithmetic, a constant, or the field that a reference names anyway."""
    if node.type == derivation.CONST:
        return bool({"law_date", "table"}.intersection(node.data))
    return node.type in {derivation.FACT_GET, derivation.FIELD_REF, derivation.COMPLIANCE_EMIT}


def _children(node: Step) -> list[int]:
    """Each once: a field whose value is a statement rests on it twice."""
    return list(dict.fromkeys(node.children))


def _notes(node: Step, below: Sequence[Step]) -> list[str]:
    """What a field rests on, beside its value and what was stated, was computed for it in vain."""
    statements = {derivation.ASSERT, derivation.COMPLIANCE_EMIT}
    spare = ["" if each.type in statements else "  (computed, not used)" for each in below[1:]]
    return ["", *spare] if node.data.get("op") == "field" else [""] * len(below)


def _pointers(node: Step, sources: Sources) -> list[str]:
    data = node.data
    if node.type != derivation.FACT_GET:
        return []
    if "prefix" not in data:
        found = sources.get((str(data["fact_type"]), str(data["fact_key"])), ())
    else:
        found = list(_by_prefix(str(data["fact_type"]), str(data["prefix"]), sources))
    shown = [_one_line(pointer) for pointer in found[:_MOST_POINTERS]]
    return shown if len(found) <= _MOST_POINTERS else [*shown, f"{len(found) - _MOST_POINTERS} more places"]


def _by_prefix(fact_type: str, prefix: str, sources: Sources) -> Iterator[str]:
    for (kind, key), pointers in sorted(sources.items()):
        if kind == fact_type and key.startswith(prefix):
            yield from pointers


def _line(node: Step) -> str:
    data = node.data
    match node.type:
        case derivation.CONST:
            draft = "draft " if "draft" in data else ""
            name = f"{draft}table {data['table']}" if "table" in data else "constant"
            name = "law date" if "law_date" in data else name
            return f"{name} {_shown(data['value'])}"
        case derivation.FACT_GET:
            return _fact(data)
        case derivation.FIELD_REF:
            return f"field {data['path']} = {_shown(data['result'])}"
        case derivation.ASSERT:
            return f"assert {_text(data['code'])}: {_text(data['message'])}"
        case derivation.COMPLIANCE_EMIT:
            said = f"{_text(data['code'])} ({_text(data['severity'])}) = {_shown(data['result'])}"
            return f"compliance {said}: {_text(data['message'])}"
        case _:
            return _operation(data)


def _fact(data: Mapping[str, object]) -> str:
    fact_type = _text(data["fact_type"])
    if "prefix" in data:
        return f"{data['count']} facts {fact_type} {_text(data['prefix'])}… (list {_hash(data['list'])})"
    found = data["payload_hash"]
    state = "absent" if found is None else f"sha256 {_hash(found)}"
    fact = f"fact {fact_type} {_text(data['fact_key'])} ({state})"
    return f"{_text(data['as'])} = {_shown(data['result'])} of {fact}" if "as" in data else fact


def _operation(data: Mapping[str, object]) -> str:
    params = data.get("params")
    given = params if isinstance(params, dict) else {}
    if data["op"] == "field":
        cites = given.get("cites")
        cited = f"  [{'; '.join(map(_text, cites))}]" if isinstance(cites, list) else ""
        return f"{given['path']} = {_shown(data['result'])}{cited}"
    shown = ", ".join(
        f"{key} {_shown(' '.join(value.split()) if key == 'lambda' else value)}"
        for key, value in given.items()
        if key not in {"takes", "uses"} and value != ""
    )
    return f"{data['op']}{f' ({shown})' if shown else ''} = {_shown(data['result'])}"


def _shown(form: object) -> str:
    match form:
        case {"dec": text} | {"date": text} | {"int": text} | {"month": text} | {"moment": text}:
            return _text(text)
        case {"qty": text, "unit": unit}:
            return f"{_text(text)} {unit}"
        case {"json": inner}:
            return _shown(inner)
        case {"empty": kind, "reason": reason, **rest}:
            return f"{kind} ({'; '.join(map(_text, (reason, *rest.values())))})"
        case {"fact": [fact_type, fact_key, _]}:
            return f"fact {_text(fact_type)} {_text(fact_key)}"
        case {"count": count, "list": hashed}:
            return f"list of {count} ({_hash(hashed)})"
        case {"map": inner} | {"texts": inner}:
            return _text(json.dumps(inner, ensure_ascii=False))
        case _:
            return _text(form if isinstance(form, str) else json.dumps(form, ensure_ascii=False))


def _hash(hashed: object) -> str:
    return f"{str(hashed)[:_HASH_SHOWN]}…"


def _text(text: object) -> str:
    """On one line, and not too long."""
    shown = _one_line(str(text))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _one_line(text: str) -> str:
    """What would break the line, or move a terminal's cursor, is shown by its number."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
