"""Which fields of a rule text read which facts."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TypeAlias, get_args

from bpc_worker.core.rules import typed
from bpc_worker.core.rules.declared import READINGS

ANY = "*"  # at the end of a key: every key that begins so

Reads: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]

# Not lambdas: facts are read outside of them.
_INNER = (*get_args(typed.Node), *get_args(typed.StatementNode), typed.Step)


def names_read(module: typed.TypedModule) -> Reads:
    """By type and key of a fact, or the beginning of its key and a `*`: the fields that read it."""
    found: dict[tuple[str, str], list[str]] = {}
    for path, field in module.fields.items():
        for name in dict.fromkeys(facts_in(field.body)):
            found.setdefault(name, []).append(path)
    return {name: tuple(paths) for name, paths in found.items()}


def readers(reads: Reads, fact_type: str, fact_key: str) -> tuple[str, ...]:
    """The fields that read this fact, in the order of the text."""
    found = [paths for (kind, key), paths in reads.items() if kind in {fact_type, ANY} and _is(key, fact_key)]
    return tuple(dict.fromkeys(path for paths in found for path in paths))


def _is(key: str, fact_key: str) -> bool:
    return fact_key.startswith(key.removesuffix(ANY)) if key.endswith(ANY) else fact_key == key


def facts_in(node: object) -> Iterator[tuple[str, str]]:
    """The facts that an expression reads, by type and key."""
    match node:
        case typed.Declared(function=function, name=name):
            yield READINGS[function].fact_type, name
        case typed.FactGet(fact_type=fact_type, fact_key=key):
            yield _constant(fact_type, ANY), _constant(key, ANY)
        case typed.FactsByPrefix(fact_type=fact_type, prefix=prefix):
            yield _constant(fact_type, ANY), _constant(prefix, "") + ANY
        case _:
            pass
    for inner in _inside(node):
        yield from facts_in(inner)


def _constant(node: typed.Node, otherwise: str) -> str:
    """What a text of the rules names; one that is computed may name anything."""
    return str(node.value) if isinstance(node, typed.Const) else otherwise


def _inside(node: object) -> Iterator[object]:
    for each in fields(node):  # type: ignore[arg-type]  # only nodes of the tree come here
        held = getattr(node, each.name)
        for inner in held if isinstance(held, tuple) else (held,):
            if isinstance(inner, _INNER):
                yield inner
