"""The steps of a proof as they are written: what follows from their order, or from one another, is left out.

A step's number is its position, its hash everybody computes, and some operations give what one of their
operands gives. All of that is hashed; to write it, too, would double a proof.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bpc_worker.core.base.canonical_json import text_of_checked

CONST, OP = "CONST", "OP"
_PASSED_ON = {"field": 0, "if": 1, "requireSome": 0}  # operation -> the operand whose value is its result
_RESULT = "result"
_SHORT, _LONG = 2, 3  # a step without children, and one with them


class Step(NamedTuple):
    type: str
    data: Mapping[str, object]
    children: tuple[int, ...]


class StepFormError(ValueError):
    """What is written at `number` is no step."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


def write(steps: Sequence[Step]) -> list[list[object]]:
    """Each as [type, data] or [type, data, children]."""
    return [_written(step, _passed_on(step, steps)) for step in steps]


def _written(step: Step, follows: list[object]) -> list[object]:
    data = dict(step.data)
    if follows and _RESULT in data and _same(data[_RESULT], follows[0]):
        del data[_RESULT]
    return [step.type, data, list(step.children)] if step.children else [step.type, data]


def read(written: Sequence[object]) -> list[Step]:
    """The whole steps; StepFormError for what `write` does not write."""
    found: list[Step] = []
    for number, each in enumerate(written):
        whole = step(number, each)
        follows = _passed_on(whole, found)
        if _RESULT not in whole.data and follows:
            whole = whole._replace(data={**whole.data, _RESULT: follows[0]})
        elif follows and _same(whole.data[_RESULT], follows[0]):
            raise StepFormError(number, "a result that follows from another step is not written")
        found.append(whole)
    return found


def step(number: int, written: object) -> Step:
    """As it is written, perhaps without its result."""
    if not isinstance(written, list) or len(written) not in {_SHORT, _LONG}:
        raise StepFormError(number, "expected a list of type, data and perhaps children")
    kind, data, *rest = written
    if not isinstance(kind, str):
        raise StepFormError(number, "the type is a text")
    if not isinstance(data, dict):
        raise StepFormError(number, "data is no object")
    [listed] = rest or [[]]
    if not isinstance(listed, list) or (rest and not listed):
        raise StepFormError(number, "children are a list, left out where there are none")
    children = tuple(child for child in listed if type(child) is int and 0 <= child < number)
    if len(children) < len(listed):
        raise StepFormError(number, "children come before their parent")
    return Step(kind, data, children)


def _passed_on(step: Step, steps: Sequence[Step]) -> list[object]:
    """The result that follows from an operand; none where nothing says it."""
    name = step.data.get("op") if step.type == OP else None
    at = _PASSED_ON.get(name) if isinstance(name, str) else None
    if at is None or at >= len(step.children):
        return []
    kind, data, _ = steps[step.children[at]]
    member = "value" if kind == CONST else _RESULT
    return [data[member]] if member in data else []


def _same(one: object, other: object) -> bool:
    """By their bytes, as Python takes True for 1."""
    return text_of_checked(one) == text_of_checked(other)
