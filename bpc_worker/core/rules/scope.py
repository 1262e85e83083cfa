"""What a name means at a place: variables, and what a lambda takes from outside."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.law import Law
from bpc_worker.core.rules.source import Limits, RuleError, Span, place, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import Type

_MOST_WARNINGS = 100


@dataclass(slots=True)
class Warnings:
    """Things that are allowed but look like mistakes."""

    found: list[tuple[str, Span]] = field(default_factory=list)

    def add(self, message: str, span: Span) -> None:
        self.found.append((message, span))

    def shown(self, source: str) -> tuple[str, ...]:
        """With their places, in order of place; of very many, the first ones."""
        lines = []
        for message, span in sorted(self.found, key=lambda each: each[1])[:_MOST_WARNINGS]:
            at = place(source, span)
            lines.append(f"line {at.line}, column {at.column}: {message}")
        if len(self.found) > _MOST_WARNINGS:
            lines.append(f"and {len(self.found) - _MOST_WARNINGS} more")
        return tuple(lines)


@dataclass(frozen=True, slots=True)
class FieldShape:
    type: Type
    may_be_empty: bool


@dataclass(slots=True)
class World:
    """What is the same everywhere in a module."""

    source: str
    fields: Mapping[str, FieldShape]
    tables: Mapping[str, Type]  # each a Map
    warnings: Warnings
    in_tests: bool = False
    law: Law | None = None
    limits: Limits = field(default_factory=Limits)
    tables_used: set[str] = field(default_factory=set)
    depth: int = 0  # of the expression at hand inside others

    def unknown_field(self, path: str, span: Span) -> RuleError:
        hint = did_you_mean(path, self.fields, "introduce it: field path: Type = expression;")
        return RuleError("RULE_TYPE_ERROR", f"unknown field {quoted(path)}", span, hint=hint)


@dataclass(frozen=True, slots=True)
class Opened:
    """A variable of an inner block, and the one of the same name that it hides there."""

    name: syntax.Name
    hidden: Type | None
    hidden_used: bool


@dataclass(frozen=True, slots=True)
class Stated:
    """Where a compliance statement stands, and who may see it; None: whoever sees the field."""

    span: Span
    audiences: tuple[str, ...] | None


@dataclass(slots=True)
class Scope:
    """The variables of a field's expression; a lambda opens one of its own."""

    world: World
    variables: dict[str, Type] = field(default_factory=dict)
    outer: "Scope | None" = None
    captures: dict[str, typed.Capture] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    fields_used: set[str] = field(default_factory=set)
    emitted: dict[str, Stated] = field(default_factory=dict)  # by compliance code

    @property
    def in_lambda(self) -> bool:
        return self.outer is not None

    def known(self, name: str) -> bool:
        return name in self.variables or (self.outer is not None and self.outer.known(name))

    def names(self) -> list[str]:
        return [*self.variables, *(self.outer.names() if self.outer is not None else self.world.tables)]

    def open(self, name: syntax.Name, kind: Type) -> Opened:
        """From here to `close`, the name means this."""
        if self.known(name.name) or name.name in self.world.tables:
            self.world.warnings.add(f"{quoted(name.name)} hides another {quoted(name.name)}", name.span)
        opened = Opened(name, self.variables.get(name.name), name.name in self.used)
        self.variables[name.name] = kind
        self.used.discard(name.name)
        return opened

    def close(self, opened: Opened) -> None:
        name = opened.name.name
        if name not in self.used and not name.startswith("_"):
            self.world.warnings.add(f"{quoted(name)} is never used", opened.name.span)
        del self.variables[name]
        self.used.discard(name)
        if opened.hidden is not None:
            self.variables[name] = opened.hidden
            if opened.hidden_used:
                self.used.add(name)

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

    def table(self, name: str, span: Span) -> typed.TableRef | None:
        kind = self.world.tables.get(name)
        if kind is None:
            return None
        self.world.tables_used.add(name)
        found = typed.TableRef(name, kind, span)
        self.capture(f"table {name}", found)
        return found

    def use_field(self, path: str) -> None:
        self.fields_used.add(path)
        if self.outer is not None:
            self.outer.use_field(path)

    def emit(self, code: str, stated: Stated) -> None:
        """One code, one statement: a passport must not say yes and no under one name."""
        if code in self.emitted:
            raise two_statements(code, stated)
        self.emitted[code] = stated


def two_statements(code: str, stated: Stated) -> RuleError:
    return RuleError(
        "RULE_TYPE_ERROR", f"two compliance statements {quoted(code)}", stated.span,
        hint="state it once, or once in each branch of an 'if'",
    )  # fmt: skip
