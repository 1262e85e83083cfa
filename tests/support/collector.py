"""An OpenTelemetry collector that keeps what it is sent: real HTTP, real protobuf, on a loopback port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Seen:
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    tags: dict[str, str]


@dataclass
class Collector:
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)

    def spans(self) -> list[Seen]:
        return [span for body in tuple(self.bodies) for span in _spans(body)]


def _spans(body: bytes) -> Iterator[Seen]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                tags = {tag.key: tag.value.string_value for tag in span.attributes}
                ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
                yield Seen(span.name, *ids, tags)


@contextmanager
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                raise NotImplementedError("nobody asked for that")
            kept.bodies.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
