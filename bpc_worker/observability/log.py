"""Log lines with no key in them that is not on the list, and no password."""

import contextlib
import json
import logging
import math
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter
from structlog.typing import EventDict, Processor

ALLOWED = tuple(
    """
    ts level msg component worker_id job_id job_type queue attempt tenant_id status duration_ms
    error_code error_message trace_id span_id correlation_id request_id namespace exception logger
    outcome count delay_s version url_host source reason pid port role signal stage key door route method
    """.split()  # noqa: SIM905 - quotes around each would hide the words
)
LIBRARIES = ("aio_pika", "aiormq", "psycopg", "aiohttp", "asyncio", "opentelemetry", "urllib3")

# Possessive, and with optional ends, so that hostile text costs no more than its length.
_PASSWORD = re.compile(
    r"""(password\s*+=\s*+|password["']\s*+:\s*+)"""
    r"""('(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|[^\s&]++)""",
    re.IGNORECASE | re.DOTALL,
)


class UnknownLogKeyError(ValueError):
    """A key that is not on the list; raised in tests only."""


def configure(*, level: str, fmt: str, stream: TextIO | None = None, strict: bool = False) -> None:
    """Send every line of this process, libraries' too, through one formatter to `stream`.

    `fmt` is json, console, or auto: console on a terminal. `strict` raises on an unknown key,
    otherwise it is dropped and counted.
    """
    out = sys.stderr if stream is None else stream
    to_console = fmt == "console" or (fmt == "auto" and out.isatty())
    handler = _Handler(out, strict=strict)
    handler.setFormatter(
        ProcessorFormatter(
            processors=[
                _Fields(strict=strict),
                _console(colours=out.isatty()) if to_console else _json_line,
            ]
        )
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,  # here, because the handler may be anywhere
            _merge_job,
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=BoundLogger,
    )
    _install(handler, logging.getLevelNamesMapping()[level.upper()])


def get(component: str) -> BoundLogger:
    """A logger for one part of the worker; it may be made before `configure` is called."""
    return structlog.stdlib.get_logger(f"bpc_worker.{component}", component=component)


# Every line of a task, and of tasks it starts, has these fields. Most tasks have none to say.
OF_JOB: ContextVar[Callable[[], Mapping[str, object]] | None] = ContextVar("bpc_job", default=None)


def _merge_job(_logger: object, _method: str, event: EventDict) -> EventDict:
    fields = OF_JOB.get()
    return event if fields is None else {**fields(), **event}


def is_verbose() -> bool:
    """Whether lines of level debug are written: some are expensive to make."""
    return logging.getLogger().isEnabledFor(logging.DEBUG)


def dropped_keys() -> int:
    """How many keys were left out of lines since the process started."""
    return _dropped.count


def redact(text: str) -> str:
    """The text without the passwords of URLs and connection strings."""
    if "://" in text and "@" in text:
        text = re.sub(r"\S+", _redact_url, text)
    return _PASSWORD.sub(r"\1***", text)


def _redact_url(word: re.Match[str]) -> str:
    # Up to the last "@": an unquoted "@" or "/" in a password must not save its tail.
    text = word[0]
    scheme, end = text.find("://"), text.rfind("@")
    colon = text.find(":", scheme + 3)
    return f"{text[:colon]}:***{text[end:]}" if 0 <= scheme < colon < end else text


class _Counter:
    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, more: int) -> None:
        with self._lock:
            self.count += more


_dropped = _Counter()


class _Fields:
    """What was said becomes the fields of a line; the list has the last word."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict

    def __call__(self, _logger: object, _method: str, event: EventDict) -> EventDict:
        record: logging.LogRecord = event.pop("_record")
        fields: dict[str, object] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "msg": _message(event),
        }
        if not event.pop("_from_structlog"):
            fields |= {"component": record.name.partition(".")[0], "logger": record.name}
        error = _error(event.pop("exc_info", None))
        if error is not None:
            fields["exception"] = "".join(traceback.format_exception(error)).rstrip()
        return {name: _plain(value) for name, value in self._allowed({**event, **fields})}

    def _allowed(self, fields: dict[str, object]) -> list[tuple[str, object]]:
        unknown = fields.keys() - ALLOWED
        if unknown and self._strict:
            raise UnknownLogKeyError(f"not on the list of log keys: {', '.join(sorted(unknown))}")
        _dropped.add(len(unknown))
        return [(name, fields[name]) for name in ALLOWED if name in fields]


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _message(event: EventDict) -> object:
    message: object = event.pop("event", None)
    values = event.pop("positional_args", ())
    return str(message) % values if values else message


def _error(exc_info: object) -> BaseException | None:
    match exc_info:
        case BaseException():
            return exc_info
        case (_, BaseException() as error, _):
            return error
        case None | False:
            return None
        case _:
            return sys.exception()


def _plain(value: object) -> str | float | bool | None:
    if isinstance(value, str):
        return redact(value)
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return redact(str(value))


def _json_line(_logger: object, _method: str, fields: EventDict) -> str:
    return json.dumps(fields)


def _console(*, colours: bool) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=colours,
        event_key="msg",
        timestamp_key="ts",
        sort_keys=False,
        exception_formatter=structlog.dev.plain_traceback,  # others print locals
    )


class _Handler(logging.StreamHandler[TextIO]):
    def __init__(self, stream: TextIO, *, strict: bool) -> None:
        super().__init__(stream)
        self._strict = strict

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the base's name
        """Never raise in production; the base would print the arguments, and secrets with them."""
        error = sys.exception()
        if self._strict and error is not None:
            raise error
        lost = {"ts": _timestamp(record), "level": "error", "msg": "log_line_lost"}
        with contextlib.suppress(OSError, ValueError):  # the stream is gone or closed
            self.stream.write(json.dumps(lost | {"logger": record.name}) + self.terminator)


def _install(handler: _Handler, level: int) -> None:
    root = logging.getLogger()
    former = [old for old in root.handlers if isinstance(old, _Handler)]
    root.addHandler(handler)
    for old in former:
        root.removeHandler(old)
    root.setLevel(level)
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
