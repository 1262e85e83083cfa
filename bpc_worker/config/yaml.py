"""YAML that people write by hand: nothing in it is larger or other than it looks."""

from collections.abc import Hashable

import yaml


class _PlainLoader(yaml.SafeLoader):
    """Without aliases, which make little text large, and without keys that stand there twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:  # noqa: FBT001, FBT002 - PyYAML's own
        keys = [key.value for key, _ in node.value]
        if len(set(map(str, keys))) != len(keys):
            raise yaml.YAMLError(f"a key stands twice in line {node.start_mark.line + 1}")
        return super().construct_mapping(node, deep)


def load_plain(text: bytes) -> object:
    """What the text says; ValueError when it is no YAML, or more than plain."""
    try:
        found: object = yaml.load(text, _PlainLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return found
