"""The tests of pages can fail: a bad page is told on, point by point."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from tests.browser.axe import barriers
from tests.browser.keyboard import walk
from tests.browser.visitor import visiting

_GOOD = """<!doctype html><html lang="en"><head><title>good</title><link rel="icon" href="data:,"></head>
<body><main><h1>Good</h1>
<a href="/">one</a> <button>two</button><label>three <input></label></main></body></html>"""
_BAD = """<!doctype html><html><head><title>bad</title><link rel="icon" href="data:,"></head>
<body><style>a { outline: none; color: #ddd; background: #fff }</style>
<a href="/">one</a><div role="button" tabindex="-1">two</div><img src="http://elsewhere.example/one.png">
<script>console.error("oh"); missing()</script></body></html>"""


@contextmanager
def served(text: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_a_good_page_has_nothing_to_complain_about(browser: Browser) -> None:
    with served(_GOOD) as origin, visiting(browser, origin) as visitor:
        assert visitor.goto("/") == 200
        assert barriers(visitor.page) == []
        walked = walk(visitor.page)
        assert (walked.missed, walked.unseen) == ([], [])


def test_everything_that_is_wrong_with_a_bad_page_is_told(browser: Browser) -> None:
    with served(_BAD) as origin, visiting(browser, origin) as visitor:
        visitor.goto("/")
        found, walked = " ".join(barriers(visitor.page)), walk(visitor.page)
        complaints = " ".join(visitor.complaints)
        visitor.complaints.clear()

    assert "html-has-lang" in found
    assert "color-contrast" in found
    assert ['role="button"' in html for html in walked.missed] == [True]
    assert ['href="/"' in html for html in walked.unseen] == [True]
    assert "left the origin: http://elsewhere.example/one.png" in complaints
    assert "console: oh" in complaints
    assert "missing is not defined" in complaints


def test_a_complaint_fails_the_test(browser: Browser) -> None:
    with pytest.raises(AssertionError, match="console: oh"):
        look_at_a_bad_page(browser)


def look_at_a_bad_page(browser: Browser) -> None:
    with served(_BAD) as origin, visiting(browser, origin) as visitor:
        visitor.goto("/")
