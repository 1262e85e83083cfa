"""Spans of jobs, with an exporter that keeps them in memory."""

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from bpc_worker.config import checks as config_checks
from bpc_worker.config.load import ConfigError, load
from bpc_worker.jobs.errors import Permanent
from bpc_worker.observability.otel import OtelTracer, _address
from bpc_worker.observability.tracing import NO_TRACER
from bpc_worker.testing import a_claim


@pytest.fixture
def kept() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(kept: InMemorySpanExporter) -> OtelTracer:
    return OtelTracer(kept, worker_id="w")


def spans(tracer: OtelTracer, kept: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    tracer.close()
    return {span.name: span for span in kept.get_finished_spans()}


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def test_from_queueing_through_a_child_to_the_follow_up_it_is_one_trace(
    tracer: OtelTracer, kept: InMemorySpanExporter
) -> None:
    with tracer.producing("enqueue A") as traceparent:
        pass
    first = tracer.job(a_claim(type="A", traceparent=traceparent))
    with first.child_call("m:TASK"):
        pass
    first.end("Done")
    tracer.job(a_claim(type="B", traceparent=first.traceparent)).end("Done")

    found = spans(tracer, kept)
    assert len({trace_of(span) for span in found.values()}) == 1
    assert parent_of(found["enqueue A"]) is None
    assert parent_of(found["job A"]) == id_of(found["enqueue A"])
    assert parent_of(found["child m:TASK"]) == id_of(found["job A"])
    assert parent_of(found["job B"]) == id_of(found["job A"])


def test_a_span_has_the_queue_the_id_and_the_outcome_and_of_an_error_its_code_only(
    tracer: OtelTracer, kept: InMemorySpanExporter
) -> None:
    job = a_claim(type="A", queue="fast")
    span = tracer.job(job)
    with pytest.raises(Permanent), span.child_call("m:TASK"):
        raise Permanent("UNIT_MISMATCH", "the words")
    span.end("Failed", "UNIT_MISMATCH")

    found = spans(tracer, kept)
    tags = dict(found["job A"].attributes or {})
    assert tags == {
        "queue": "fast", "job_id": str(job.job_id), "job_type": "A", "attempt": 1, "outcome": "Failed",
    }  # fmt: skip
    for span_ in found.values():
        assert (span_.status.status_code, span_.status.description) == (StatusCode.ERROR, "UNIT_MISMATCH")
        assert "the words" not in span_.to_json()


def test_attempts_at_a_job_without_a_trace_are_one_trace_under_its_id(
    tracer: OtelTracer, kept: InMemorySpanExporter
) -> None:
    job = a_claim(type="A")
    for outcome in ("Retry", "Done"):
        tracer.job(job).end(outcome)
    with tracer.producing("other"):
        pass
    tracer.close()

    first, second, other = kept.get_finished_spans()
    assert trace_of(first) == trace_of(second) == job.job_id.int
    assert id_of(first) != id_of(second)
    assert trace_of(other) != job.job_id.int


@pytest.mark.parametrize("said", ["", "nonsense", "00-0-0-00", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_traceparent_that_is_none_begins_a_trace(
    said: str, tracer: OtelTracer, kept: InMemorySpanExporter
) -> None:
    job = a_claim(type="A", traceparent=said)
    tracer.job(job).end("Done")

    assert trace_of(spans(tracer, kept)["job A"]) == job.job_id.int


def test_log_lines_and_rows_name_the_same_span(tracer: OtelTracer) -> None:
    span = tracer.job(a_claim())
    fields = span.log_fields

    version, trace_id, span_id, _flags = str(span.traceparent).split("-")
    assert (version, trace_id, span_id) == ("00", fields["trace_id"], fields["span_id"])


def test_without_tracing_nothing_is_said() -> None:
    span = NO_TRACER.job(a_claim())
    with NO_TRACER.producing("enqueue A") as traceparent, span.child_call("m:TASK"):
        pass
    span.end("Done")
    NO_TRACER.close()

    assert (traceparent, span.traceparent, dict(span.log_fields)) == (None, None, {})


@pytest.mark.parametrize(
    ("given", "sent_to"),
    [
        ("http://h:4318", "http://h:4318/v1/traces"),
        ("http://h:4318/", "http://h:4318/v1/traces"),
        ("https://h/otlp/v1/traces", "https://h/otlp/v1/traces"),
    ],
)
def test_a_bare_address_gets_the_usual_path(given: str, sent_to: str) -> None:
    assert _address(given) == sent_to


def test_tracing_without_the_extra_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(config_checks, "find_spec", nothing)
    given = {"BPC_TRACING_ENABLED": "on", "BPC_TRACING_ENDPOINT": "http://h:4318"}

    with pytest.raises(ConfigError) as caught:
        load(env=given)
    assert "pip install 'bpc-worker[tracing]'" in str(caught.value)
    assert load(env=given | {"BPC_TRACING_ENABLED": "off"}).tracing.enabled is False
