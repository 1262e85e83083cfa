"""How a field got its value: from the published number down to the facts and where they stand."""

import json
from collections.abc import Mapping, Sequence

from bpc_worker.core import proof
from bpc_worker.core.verify import VerifiedProof

Sources = Mapping[tuple[str, str], Sequence[str]]  # (fact type, fact key) -> pointers into documents

_LONGEST_VALUE = 80


def explain(proved: VerifiedProof, path: str, sources: Sources | None = None) -> list[str]:
    """One line per step, indented under what it gives; a step told already is named, not repeated."""
    if path not in proved.fields:
        known = ", ".join(sorted(proved.fields))
        raise KeyError(f"no field {path}; there are {known}")
    lines: list[str] = []
    told: set[int] = set()
    waiting = [(proved.fields[path].node, 0)]
    while waiting:
        number, depth = waiting.pop()
        node = proved.nodes[number]
        indent = "  " * depth
        children = _children(node)
        if number in told and children:
            lines.append(f"{indent}{_line(node)}  (see above)")
            continue
        told.add(number)
        lines.append(f"{indent}{_line(node)}")
        lines += [f"{indent}  from {pointer}" for pointer in _pointers(node, sources or {})]
        waiting += [(child, depth + 1) for child in reversed(children)]
    return lines


def _children(node: Mapping[str, object]) -> list[int]:
    below = node["children"]
    return [child for child in below if isinstance(child, int)] if isinstance(below, list) else []


def _data(node: Mapping[str, object]) -> Mapping[str, object]:
    data = node["data"]
    return data if isinstance(data, dict) else {}


def _pointers(node: Mapping[str, object], sources: Sources) -> Sequence[str]:
    data = _data(node)
    if node["type"] != proof.FACT_GET or "fact_key" not in data:
        return ()
    return sources.get((str(data["fact_type"]), str(data["fact_key"])), ())


def _line(node: Mapping[str, object]) -> str:
    data = _data(node)
    match node["type"]:
        case proof.CONST:
            name = f"table {data['table']}" if "table" in data else "constant"
            name = "law date" if data.get("law_date") else name
            return f"{name} {_shown(data['value'])}"
        case proof.FACT_GET if "prefix" in data:
            listed = f"list {str(data['list'])[:12]}…"
            return f"{data['count']} facts {data['fact_type']} {data['prefix']}… ({listed})"
        case proof.FACT_GET:
            found = data["payload_hash"]
            state = "absent" if found is None else f"sha256 {str(found)[:12]}…"
            return f"fact {data['fact_type']} {data['fact_key']} ({state})"
        case proof.FIELD_REF:
            return f"field {data['path']} = {_shown(data['result'])}"
        case proof.ASSERT:
            return f"assert {data['code']}: {data['message']}"
        case proof.COMPLIANCE_EMIT:
            return f"compliance {data['code']} = {_shown(data['result'])}: {data['message']}"
        case _:
            return _operation(data)


def _operation(data: Mapping[str, object]) -> str:
    params = data.get("params")
    given = params if isinstance(params, dict) else {}
    if data["op"] == "field":
        cites = given.get("cites")
        cited = f"  [{'; '.join(map(str, cites))}]" if isinstance(cites, list) else ""
        return f"{given['path']} = {_shown(data['result'])}{cited}"
    shown = ", ".join(
        f"{key} {_shown(value)}"
        for key, value in given.items()
        if key not in {"takes", "uses"} and value != ""
    )
    return f"{data['op']}{f' ({shown})' if shown else ''} = {_shown(data['result'])}"


def _shown(form: object) -> str:
    match form:
        case {"dec": text} | {"date": text} | {"int": text}:
            return str(text)
        case {"qty": text, "unit": unit}:
            return f"{text} {unit}"
        case {"json": inner}:
            return _shown(inner)
        case {"empty": kind, "reason": reason}:
            return f"{kind} ({reason})"
        case {"fact": [fact_type, fact_key, _]}:
            return f"fact {fact_type} {fact_key}"
        case {"count": count, "list": hashed}:
            return f"list of {count} ({str(hashed)[:12]}…)"
        case _:
            text = form if isinstance(form, str) else json.dumps(form, ensure_ascii=False)
            return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
