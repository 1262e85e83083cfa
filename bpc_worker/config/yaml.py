"""YAML that people write by hand: nothing in it is larger or other than it looks."""

from collections.abc import Hashable

import yaml


class _DuplicateKeyError(yaml.constructor.ConstructorError):
    """With the mark of the mapping, and of the key that stands in it a second time."""

    context_mark: yaml.Mark


class _Loader(yaml.SafeLoader):
    """Without keys that stand there twice; `aliases`, which make little text large, may be refused."""

    def __init__(self, text: str | bytes, *, aliases: bool) -> None:
        super().__init__(text)
        self._aliases = aliases

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if not self._aliases and self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:  # noqa: FBT001, FBT002 - PyYAML's own
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise _DuplicateKeyError(None, node.start_mark, f"duplicate key {name!r}", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


class _PlainLoader(_Loader):
    """For what senders write: a day that does not exist stays a text, so that its reader can say where."""


def _time(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
    try:
        return loader.construct_yaml_timestamp(node)
    except ValueError:
        return node.value


_PlainLoader.add_constructor("tag:yaml.org,2002:timestamp", _time)


def load_strict(text: str) -> object:
    """What the text says, aliases and all; YAMLError, ValueError or RecursionError when it is no YAML."""
    found: object = _Loader(text, aliases=True).get_single_data()
    return found


def load_plain(text: bytes) -> object:
    """What the text says; ValueError when it is no YAML, or more than plain."""
    try:
        found: object = _PlainLoader(text, aliases=False).get_single_data()
    except _DuplicateKeyError as error:
        raise ValueError(f"a key stands twice in line {error.context_mark.line + 1}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return found
