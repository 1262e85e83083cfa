"""The configuration file described for editors (JSON Schema), and as an example to start from."""

from bpc_worker.config.aliases import DROPPED
from bpc_worker.config.keys import Key
from bpc_worker.config.settings import KEYS

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


class _Tree:
    """The properties of every section, by its dotted name; that of the root is empty."""

    def __init__(self) -> None:
        self._sections: dict[str, dict[str, object]] = {"": {}}
        self.root = _section(self._sections[""])

    def place(self, name: str, described: object) -> None:
        above, _, leaf = name.rpartition(".")
        if above not in self._sections:
            self._sections[above] = {}
            self.place(above, _section(self._sections[above]))
        self._sections[above][leaf] = described


def _section(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def schema() -> dict[str, object]:
    """What may stand in the file; old names are allowed, and marked as such."""
    tree = _Tree()
    for key in KEYS:
        tree.place(key.name, _described(key))
    for key in KEYS:
        for old in key.aliases:
            if not old.is_variable:
                tree.place(old.name, _deprecated(f"an old name of {key.name}{old.remark}"))
    for name, why in DROPPED.items():
        tree.place(name, _deprecated(f"not used any more: {why}"))
    return {"$schema": _DRAFT, "title": "bpc-worker.yaml", **tree.root}


def _described(key: Key) -> dict[str, object]:
    described = {**key.kind.schema, "description": f"{key.help} ({key.env})"}
    if key.default is not None and not key.secret:
        described["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return described


def _deprecated(description: str) -> dict[str, object]:
    return {"deprecated": True, "description": description}


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
        lines.append(f"{indent}# {leaf}: {key.default_json}".rstrip())
    return "\n".join(lines) + "\n"
