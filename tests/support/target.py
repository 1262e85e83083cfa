"""Somebody on this machine who is called over HTTP, and answers as he is told."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Target:
    """Answers every GET with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.calls = 0
        told = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                told.calls += 1
                self.send_response(told.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
