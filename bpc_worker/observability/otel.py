"""Spans by OpenTelemetry, sent to a collector over OTLP. Imported only where tracing is on."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bpc_worker import __version__
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.model import Claim

_LAST_WORDS_SECONDS = 1.0
_SEND_SECONDS = 2.0
_TRACES = "/v1/traces"
_header = TraceContextTextMapPropagator()


class _Ids(RandomIdGenerator):
    """A job that belongs to no trace begins one under its own id: its later attempts are part of it."""

    def __init__(self) -> None:
        self.next_trace: int | None = None

    def generate_trace_id(self) -> int:
        return self.next_trace or super().generate_trace_id()


class OtelJobSpan:
    def __init__(self, tracer: trace.Tracer, span: Span) -> None:
        self._tracer = tracer
        self._span = span
        self._context = trace.set_span_in_context(span, Context())
        self.traceparent = _traceparent(self._context)

    @property
    def log_fields(self) -> Mapping[str, object]:
        known = self._span.get_span_context()
        return {
            "trace_id": trace.format_trace_id(known.trace_id),
            "span_id": trace.format_span_id(known.span_id),
        }

    @contextmanager
    def child_call(self, task: str) -> Iterator[None]:
        span = self._tracer.start_span(f"child {task}", self._context)
        try:
            yield
        except BaseException as error:
            span.set_status(StatusCode.ERROR, _code_of(error))
            raise
        finally:
            span.end()

    def end(self, outcome: str, error_code: str | None = None) -> None:
        self._span.set_attribute("outcome", outcome)
        if error_code is not None:
            self._span.set_status(StatusCode.ERROR, error_code)
        self._span.end()


class OtelTracer:
    """Never a payload nor the words of an error: names, ids and codes only."""

    def __init__(self, exporter: SpanExporter, *, worker_id: str) -> None:
        self._ids = _Ids()
        self._provider = TracerProvider(
            resource=Resource.create(
                {
                    "service.name": "bpc-worker",
                    "service.version": __version__,
                    "service.instance.id": worker_id,
                }
            ),
            id_generator=self._ids,
            shutdown_on_exit=False,  # it would wait for a collector that is away
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("bpc_worker", __version__)

    def job(self, claim: Claim) -> OtelJobSpan:
        """In the control loop only: one thread at a time chooses the next id."""
        parent = _header.extract({"traceparent": claim.traceparent or ""}, Context())
        self._ids.next_trace = claim.job_id.int
        try:
            span = self._tracer.start_span(
                f"job {claim.type}",
                parent,
                kind=SpanKind.CONSUMER,
                attributes={
                    "queue": claim.queue,
                    "job_id": str(claim.job_id),
                    "job_type": claim.type,
                    "attempt": claim.attempts,
                },
            )
        finally:
            self._ids.next_trace = None
        return OtelJobSpan(self._tracer, span)

    @contextmanager
    def producing(self, name: str) -> Iterator[str | None]:
        span = self._tracer.start_span(name, Context(), kind=SpanKind.PRODUCER)
        try:
            yield _traceparent(trace.set_span_in_context(span, Context()))
        finally:
            span.end()

    def close(self) -> None:
        """A collector that does not answer must not keep the process."""
        last = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        last.start()
        last.join(_LAST_WORDS_SECONDS)


def to_collector(endpoint: str, *, worker_id: str) -> OtelTracer:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporter = OTLPSpanExporter(endpoint=_address(endpoint), timeout=_SEND_SECONDS)
    return OtelTracer(exporter, worker_id=worker_id)


def _address(endpoint: str) -> str:
    """A bare host gets the path that collectors listen at."""
    parts = urlsplit(endpoint)
    return endpoint if parts.path.strip("/") else urlunsplit(parts._replace(path=_TRACES))


def _traceparent(context: Context) -> str | None:
    carrier: dict[str, str] = {}
    _header.inject(carrier, context)
    return carrier.get("traceparent")


def _code_of(error: BaseException) -> str:
    return error.code if isinstance(error, JobError) else type(error).__name__
