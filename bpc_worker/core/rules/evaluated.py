"""What an evaluation gives, and what ends it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bpc_worker.core.rules.source import RuleError, Span, too_deep_a_stack
from bpc_worker.core.rules.trace import Ref
from bpc_worker.core.rules.values import WARN, Value


@dataclass(frozen=True, slots=True)
class Statement:
    """A compliance statement of the passport."""

    code: str
    holds: bool
    message: str
    severity: str = WARN  # of what follows where it does not hold


@dataclass(slots=True)
class Evaluated:
    fields: dict[str, Value] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)


class FieldEndedError(Exception):
    """The field has no value, whatever the rest of its expression says: its step tells why."""

    def __init__(self, ref: Ref) -> None:
        super().__init__()
        self.ref = ref


@contextmanager
def placed(span: Span) -> Iterator[None]:
    """Errors that know no place of their own get this one."""
    try:
        yield
    except RecursionError:
        raise too_deep_a_stack() from None
    except RuleError as error:
        raise error.at(span) from error.__cause__
