"""How a setting is declared: once, as `Annotated[T, setting(kind, help)]` on a field of its section.

The field's default is what it is when nobody says; a field without one follows from other settings.
"""

import json
from collections.abc import Iterator
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import TypeVar, dataclass_transform, get_type_hints

from bpc_worker.config.aliases import ALIASES, Alias
from bpc_worker.config.kinds import Kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. Secrets are never shown, and are read from the file NAME_FILE names, too."""

    kind: Kind
    help: str
    env: str
    secret: bool
    part: bool  # of another setting, in which it ends up
    name: str = ""
    default: object = None
    aliases: tuple[Alias, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *(old.name for old in self.aliases if not old.is_variable))

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.env, *(old.name for old in self.aliases if old.is_variable))

    @property
    def default_json(self) -> str:
        """As it could stand in the file; nothing at all where there is none."""
        return "" if self.default is None else json.dumps(self.default, ensure_ascii=False)

    def alias(self, name: str) -> Alias:
        """The old name of that spelling; for today's, one that changes nothing."""
        return next((old for old in self.aliases if old.name == name), Alias(name))


def setting(kind: Kind, help_: str, *, env: str = "", secret: bool = False, part: bool = False) -> Key:
    """What a field's annotation says of it; `env` where the variable has another name than the key."""
    return Key(kind, help_, env, secret, part)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def section(cls: type[T]) -> type[T]:
    """A frozen dataclass that does not print its secrets, and whose defaults may be mappings."""
    for name, key in _declared(cls).items():
        if name in vars(cls):
            default = partial(copy, vars(cls)[name])
            setattr(cls, name, field(default_factory=default, repr=not key.secret))
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def keys_of(section_: type, prefix: str = "") -> Iterator[Key]:
    """Every setting of the section and of those in it, with the names that follow from its place."""
    declared, hints = _declared(section_), get_type_hints(section_)
    for each in fields(section_):
        name = f"{prefix}{each.name}"
        if each.name in declared:
            key = declared[each.name]
            default = None if each.default_factory is MISSING else each.default_factory()
            env = key.env or "BPC_" + name.replace("database.", "db.").replace(".", "_").upper()
            yield replace(key, name=name, env=env, default=default, aliases=ALIASES.get(name, ()))
        elif is_dataclass(hints[each.name]):
            yield from keys_of(hints[each.name], f"{name}.")


def _declared(cls: type) -> dict[str, Key]:
    return {
        name: said
        for name, hint in get_type_hints(cls, include_extras=True).items()
        for said in getattr(hint, "__metadata__", ())
        if isinstance(said, Key)
    }
