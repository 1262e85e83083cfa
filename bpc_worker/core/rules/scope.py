"""What a name means at a place: variables, and what a lambda takes from outside."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bpc_worker.core.rules import typed
from bpc_worker.core.rules.source import Span
from bpc_worker.core.rules.types import Type


@dataclass(slots=True)
class Warnings:
    """Things that are allowed but look like mistakes."""

    found: list[tuple[str, Span]] = field(default_factory=list)

    def add(self, message: str, span: Span) -> None:
        self.found.append((message, span))


@dataclass(slots=True)
class World:
    """What is the same everywhere in a module."""

    source: str
    fields: Mapping[str, "FieldShape"]
    tables: Mapping[str, Type]
    warnings: Warnings
    in_tests: bool = False


@dataclass(frozen=True, slots=True)
class FieldShape:
    type: Type
    may_be_empty: bool


@dataclass(slots=True)
class Scope:
    """The variables of a field's expression; a lambda opens one of its own."""

    world: World
    variables: dict[str, Type] = field(default_factory=dict)
    outer: "Scope | None" = None
    captures: dict[str, typed.Capture] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    fields_used: set[str] = field(default_factory=set)

    @property
    def in_lambda(self) -> bool:
        return self.outer is not None

    def known(self, name: str) -> bool:
        return name in self.variables or (self.outer is not None and self.outer.known(name))

    def names(self) -> list[str]:
        return [*self.variables, *(self.outer.names() if self.outer is not None else [])]

    def variable(self, name: str, span: Span) -> typed.Var | None:
        if name in self.variables:
            self.used.add(name)
            return typed.Var(name, self.variables[name], span)
        if self.outer is None:
            return None
        found = self.outer.variable(name, span)
        if found is not None:
            self.captures.setdefault(name, found)
        return found

    def capture(self, key: str, node: typed.Capture) -> None:
        """Something from outside that is no variable: a field, a table, the law date."""
        if self.outer is not None:
            self.captures.setdefault(key, node)
            self.outer.capture(key, node)

    def use_field(self, path: str) -> None:
        self.fields_used.add(path)
        if self.outer is not None:
            self.outer.use_field(path)
