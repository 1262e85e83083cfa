"""Where values stand in a JSON document: leaves by their steps, and paths of a table to the values they mean.

A path is steps joined by `/`. A number is that item of an array, `*` is every item, and
`*[stage=Distribution]` is every item whose member `stage` says so.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from bpc_worker.documents.reading.json_text import Number

Steps: TypeAlias = tuple[str | int, ...]

_EVERY = re.compile(r"\*(?:\[(?P<member>[^=\]]+)=(?P<word>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Found:
    steps: Steps
    value: object
    chosen_by: frozenset[Steps] = frozenset()  # the members that said which item it is


def place(steps: Steps) -> str:
    """The JSON pointer, however long."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def leaves(value: object, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """Everything that says something: no container, no null, no empty text."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*steps, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves(each, (*steps, index))
    elif value is not None and value != "":
        yield steps, value


def find(value: object, path: str, steps: Steps = ()) -> Iterator[Found]:
    """Every place that the path means and that says something."""
    here = [Found(steps, value)]
    for step in filter(None, _split(path)):
        here = [inner for outer in here for inner in _inside(outer, step)]
    return (each for each in here if next(leaves(each.value), None) is not None)


def _split(path: str) -> Iterator[str]:
    """By `/`, but not inside brackets."""
    return (step[0] for step in re.finditer(r"(?:\[[^\]]*\]|[^/\[])+", path))


def _inside(outer: Found, step: str) -> Iterator[Found]:
    held = outer.value
    if isinstance(held, Mapping):
        if step in held:
            yield Found((*outer.steps, step), held[step], outer.chosen_by)
    elif isinstance(held, list):
        every = _EVERY.fullmatch(step)
        for index, item in enumerate(held):
            if every is None:
                if str(index) == step:
                    yield Found((*outer.steps, index), item, outer.chosen_by)
            elif every["member"] is None:
                yield Found((*outer.steps, index), item, outer.chosen_by)
            elif isinstance(item, Mapping) and _is(item.get(every["member"]), every["word"]):
                said = (*outer.steps, index, every["member"])
                yield Found((*outer.steps, index), item, outer.chosen_by | {said})


def _is(said: object, word: str) -> bool:
    return said.value == Decimal(word) if isinstance(said, Number) else said == word
