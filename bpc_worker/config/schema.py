"""The configuration file described for editors (JSON Schema), and as an example to start from."""

import json
from collections.abc import Mapping

from bpc_worker.config.aliases import DROPPED, Alias
from bpc_worker.config.keys import KEYS, Key

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, object]:
    """What may stand in the file; old names are allowed, and marked as such."""
    root: dict[str, object] = _section()
    for key in KEYS:
        described = {**key.kind.schema, "description": f"{key.help} ({key.env})"}
        if key.default is not None and not key.secret:
            described["default"] = shown_default(key)
        _place(root, key.name, described)
    for key in KEYS:
        for old in key.aliases:
            if not old.is_variable:
                _place(root, old.name, _old(key, old))
    for name, why in DROPPED.items():
        _place(root, name, {"deprecated": True, "description": f"not used any more: {why}"})
    return {"$schema": _DRAFT, "title": "bpc-worker.yaml", **root}


def _section() -> dict[str, object]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _old(key: Key, old: Alias) -> dict[str, object]:
    note = f" ({old.note})" if old.note else ""
    return {"deprecated": True, "description": f"an old name of {key.name}{note}"}


def _place(root: dict[str, object], name: str, described: Mapping[str, object]) -> None:
    *sections, leaf = name.split(".")
    here = root
    for section in sections:
        here = _properties(here).setdefault(section, _section())
    _properties(here)[leaf] = dict(described)


def _properties(section: dict[str, object]) -> dict[str, dict[str, object]]:
    found = section["properties"]
    assert isinstance(found, dict)  # noqa: S101 - made above
    return found


def shown_default(key: Key) -> object:
    """As it could stand in the file."""
    return list(key.default) if isinstance(key.default, tuple) else key.default


def example() -> str:
    """Every setting with its default, commented out: a file that changes nothing."""
    lines = [
        "# bpc-worker.yaml: every setting, commented out, with its default.",
        "# Each is also an environment variable, which wins over the file; secrets also as NAME_FILE.",
    ]
    section = ""
    for key in KEYS:
        head, _, leaf = key.name.rpartition(".")
        if head != section:
            lines += ["", f"{head}:"] if head else [""]
            section = head
        indent = "  " if head else ""
        lines.append(f"{indent}# {key.help}: {key.kind.allowed} ({key.env})")
        lines.append(f"{indent}# {leaf}: {_yaml(key)}".rstrip())
    return "\n".join(lines) + "\n"


def _yaml(key: Key) -> str:
    """JSON is YAML; nothing at all when there is no default."""
    return "" if key.default is None else json.dumps(shown_default(key), ensure_ascii=False)
