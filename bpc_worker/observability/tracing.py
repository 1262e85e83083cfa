"""Spans as the engine sees them; and those of a worker that traces nothing, which cost nothing."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Protocol

from bpc_worker.jobs.model import Claim

_NOTHING: Mapping[str, object] = MappingProxyType({})


class JobSpan(Protocol):
    """One attempt at a job."""

    @property
    def traceparent(self) -> str | None:
        """What follows from this attempt names it as its parent; None: nothing is traced."""

    @property
    def log_fields(self) -> Mapping[str, object]:
        """For every log line of the attempt."""

    def child_call(self, task: str) -> AbstractContextManager[object]: ...

    def end(self, outcome: str, error_code: str | None = None) -> None: ...


class Tracer(Protocol):
    def job(self, claim: Claim) -> JobSpan: ...

    def producing(self, name: str) -> AbstractContextManager[str | None]:
        """Around queueing from outside of a job; what it gives is the `traceparent` of what is queued."""

    def close(self) -> None:
        """Send what is left, within a moment."""


class _NoSpan:
    traceparent: str | None = None
    log_fields = _NOTHING

    def child_call(self, _task: str) -> AbstractContextManager[object]:
        return _NO_CALL

    def end(self, outcome: str, error_code: str | None = None) -> None: ...


class _NoTracer:
    def job(self, _claim: Claim) -> JobSpan:
        return NO_SPAN

    def producing(self, _name: str) -> AbstractContextManager[str | None]:
        return _NO_CALL

    def close(self) -> None: ...


_NO_CALL: AbstractContextManager[None] = nullcontext()
NO_SPAN: JobSpan = _NoSpan()
NO_TRACER: Tracer = _NoTracer()
