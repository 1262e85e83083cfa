import io
import json
import logging
import re
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog

from bpc_worker.observability import log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class BrokenStream(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def our_handlers() -> list[logging.Handler]:
    return [one for one in logging.getLogger().handlers if isinstance(one, log._Handler)]


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    levels = {name: logging.getLogger(name).level for name in log.LIBRARIES}
    yield
    for handler in our_handlers():
        root.removeHandler(handler)
    root.setLevel(level)
    for name, former in levels.items():
        logging.getLogger(name).setLevel(former)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def out() -> io.StringIO:
    stream = io.StringIO()
    log.configure(level="debug", fmt="auto", stream=stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def line(stream: io.StringIO) -> dict[str, object]:
    [only] = lines(stream)
    return only


def test_a_line_says_when_how_grave_what_and_where(out: io.StringIO) -> None:
    before = datetime.now(UTC)
    log.get("runner").info("attempt_ended", outcome="Done", attempt=3)

    fields = line(out)
    ts = fields.pop("ts")
    assert isinstance(ts, str)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", ts)
    # A log record knows its time as a float, which may round a microsecond down.
    assert (datetime.fromisoformat(ts) - before).total_seconds() > -0.001
    assert fields == {
        "level": "info",
        "msg": "attempt_ended",
        "component": "runner",
        "outcome": "Done",
        "attempt": 3,
    }


def test_a_logger_made_before_the_set_up_works_after_it() -> None:
    early = log.get("early")
    stream = io.StringIO()
    log.configure(level="info", fmt="json", stream=stream)

    early.info("ready")

    assert line(stream)["component"] == "early"


def test_values_bound_for_a_task_are_in_its_lines(out: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(job_id="j1"):
        log.get("attempt").bind(queue="default").info("attempt_started")

    assert line(out).items() >= {"job_id": "j1", "queue": "default"}.items()


def test_the_level_silences_lesser_lines() -> None:
    stream = io.StringIO()
    log.configure(level="warning", fmt="json", stream=stream)
    logger = log.get("x")

    logger.info("quiet")
    logger.warning("loud")

    assert line(stream)["msg"] == "loud"


def test_without_a_stream_lines_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure(level="info", fmt="json")
    log.get("x").info("hello")

    printed = capsys.readouterr()
    assert printed.out == ""
    assert json.loads(printed.err)["msg"] == "hello"


@pytest.mark.parametrize(
    ("fmt", "stream", "starts_with"),
    [
        ("auto", io.StringIO(), "{"),
        ("auto", Terminal(), "\x1b["),
        ("json", Terminal(), "{"),
        ("console", io.StringIO(), "2"),
    ],
)
def test_the_format_follows_the_stream_unless_told(fmt: str, stream: io.StringIO, starts_with: str) -> None:
    log.configure(level="info", fmt=fmt, stream=stream)
    log.get("x").info("hello", queue="default")

    text = stream.getvalue()
    assert text.startswith(starts_with)
    assert "hello" in text
    assert "default" in text


def test_a_console_shows_exceptions_without_locals_and_without_warnings() -> None:
    stream = Terminal()
    log.configure(level="info", fmt="auto", stream=stream)
    fail_with_a_local(log.get("x"))

    assert "ValueError: amqp://u:***@h" in stream.getvalue()
    assert "hidden in a local" not in stream.getvalue()


def test_setting_up_again_replaces_the_former_handler() -> None:
    first, second = io.StringIO(), io.StringIO()
    log.configure(level="info", fmt="json", stream=first)
    log.configure(level="info", fmt="json", stream=second)

    log.get("x").info("once")

    assert first.getvalue() == ""
    assert line(second)["msg"] == "once"


def test_a_key_that_is_not_on_the_list_is_dropped_and_counted(out: io.StringIO) -> None:
    before = log.dropped_keys()
    log.get("x").info("hello", payload={"secret": 1}, password="p", queue="default")

    assert log.dropped_keys() == before + 2
    assert line(out).keys() == {"ts", "level", "msg", "component", "queue"}


def test_a_bound_key_that_is_not_on_the_list_is_dropped_too(out: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(customer="c"):
        log.get("x").bind(iban="i").info("hello")

    assert line(out).keys() == {"ts", "level", "msg", "component"}


def test_strictness_turns_an_unknown_key_into_an_error_at_the_caller() -> None:
    stream = io.StringIO()
    log.configure(level="info", fmt="json", stream=stream, strict=True)
    logger = log.get("x")

    with pytest.raises(log.UnknownLogKeyError, match="iban, payload"):
        logger.info("hello", payload=1, iban=2, queue="default")
    logger.info("hello", queue="default")

    assert line(stream)["queue"] == "default"


def test_a_caller_cannot_forge_level_and_time(out: io.StringIO) -> None:
    log.get("x").info("hello", level="error", ts="never")

    assert line(out)["level"] == "info"
    assert line(out)["ts"] != "never"


def test_every_key_on_the_list_is_kept() -> None:
    stream = io.StringIO()
    log.configure(level="info", fmt="json", stream=stream, strict=True)
    own = {"ts", "level", "msg"}
    log.get("x").info("hello", **{name: "v" for name in log.ALLOWED if name not in own})

    assert line(stream).keys() == set(log.ALLOWED)


@pytest.mark.parametrize("library", log.LIBRARIES)
def test_lines_of_libraries_have_the_same_shape_and_no_passwords(out: io.StringIO, library: str) -> None:
    logger = logging.getLogger(f"{library}.some_part")
    logger.info("chatter")
    logger.warning("lost %s", "amqp://user:secret@broker/", extra={"payload": "p"})

    fields = line(out)
    del fields["ts"]
    assert fields == {
        "level": "warning",
        "msg": "lost amqp://user:***@broker/",
        "component": library,
        "logger": f"{library}.some_part",
    }


def test_libraries_are_no_louder_than_the_worker() -> None:
    stream = io.StringIO()
    log.configure(level="error", fmt="json", stream=stream)
    logging.getLogger("aio_pika").warning("chatter")

    assert stream.getvalue() == ""


def connect(url: str) -> None:
    raise ValueError(url)


def fail_with_a_local(logger: structlog.stdlib.BoundLogger) -> None:
    password = "hidden " + "in a local"
    try:
        connect("amqp://u:secret@h" if password else "")
    except ValueError:
        logger.exception("broken")


def test_an_exception_is_one_text_with_type_message_and_frames(out: io.StringIO) -> None:
    fail_with_a_local(log.get("x"))

    text = line(out)["exception"]
    assert isinstance(text, str)
    assert text.startswith("Traceback")
    assert "in fail_with_a_local" in text
    assert text.endswith("ValueError: amqp://u:***@h")
    assert "hidden in a local" not in out.getvalue()


def test_causes_are_shown_and_redacted(out: io.StringIO) -> None:
    inner = ConnectionError("host=h password='two words' user=u")
    outer = RuntimeError("no database")
    outer.__cause__ = inner
    log.get("x").error("broken", exc_info=outer)

    text = str(line(out)["exception"])
    assert "ConnectionError: host=h password=*** user=u" in text
    assert text.endswith("RuntimeError: no database")


def test_an_exception_of_a_library_is_rendered_the_same_way(out: io.StringIO) -> None:
    error = OSError("postgresql://u:secret@h/db")
    logging.getLogger("psycopg").error("broken", exc_info=error)

    assert line(out)["exception"] == "OSError: postgresql://u:***@h/db"


@pytest.mark.parametrize("nothing", [None, False, True])
def test_without_an_exception_there_is_no_exception_field(out: io.StringIO, nothing: object) -> None:
    log.get("x").error("broken", exc_info=nothing)

    assert "exception" not in line(out)


def test_values_json_does_not_know_become_text(out: io.StringIO) -> None:
    job = uuid.UUID(int=1)
    log.get("x").info(
        "hello", job_id=job, delay_s=float("inf"), reason={"a": {1}}, key=b"k", count=True, pid=None
    )

    assert (
        line(out).items()
        >= {
            "job_id": str(job),
            "delay_s": "inf",
            "reason": "{'a': {1}}",
            "key": "b'k'",
            "count": True,
            "pid": None,
        }.items()
    )


def test_text_stays_on_one_line_and_lone_surrogates_do_no_harm(out: io.StringIO) -> None:
    log.get("x").info("hello", reason="a\nb\ud800é", delay_s=0.5)

    assert out.getvalue().count("\n") == 1
    assert line(out)["reason"] == "a\nb\ud800é"


def test_positional_values_are_filled_in(out: io.StringIO) -> None:
    log.get("x").info("port %d of %s", 1, "h")

    assert line(out)["msg"] == "port 1 of h"


def test_a_line_that_cannot_be_written_is_replaced_and_nothing_is_raised(out: io.StringIO) -> None:
    log.get("x").info("one", reason=Unprintable())
    bad_call = logging.LogRecord("aiormq", logging.WARNING, "", 0, "%d: %s", ("secret",), None)
    for handler in our_handlers():
        handler.handle(bad_call)

    assert [fields["msg"] for fields in lines(out)] == ["log_line_lost", "log_line_lost"]
    assert [fields["logger"] for fields in lines(out)] == ["bpc_worker.x", "aiormq"]
    assert "secret" not in out.getvalue()


def test_a_broken_stream_does_not_raise() -> None:
    log.configure(level="info", fmt="json", stream=BrokenStream())
    log.get("x").info("hello")
    closed = io.StringIO()
    log.configure(level="info", fmt="json", stream=closed)
    closed.close()

    log.get("x").info("hello")


def test_many_threads_write_whole_lines_and_count_every_dropped_key(out: io.StringIO) -> None:
    before = log.dropped_keys()
    logger = log.get("x")
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        for count in range(50):
            logger.info("hello", pid=number, count=count, unknown=1)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    written = {(fields["pid"], fields["count"]) for fields in lines(out)}
    assert written == {(number, count) for number in range(8) for count in range(50)}
    assert log.dropped_keys() == before + 400


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing to hide", "nothing to hide"),
        ("postgresql://u:secret@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://u@h:5432/db", "postgresql://u@h:5432/db"),
        ("amqp://:secret@h", "amqp://:***@h"),
        ("URL('amqp://u:se@cr/et@h/v') failed", "URL('amqp://u:***@h/v') failed"),
        ("a https://h:80/x b redis://u:p@h c", "a https://h:80/x b redis://u:***@h c"),
        ("postgresql://h/db?password=secret&x=1", "postgresql://h/db?password=***&x=1"),
        ("host=h password=secret user=u", "host=h password=*** user=u"),
        ("host=h PASSWORD = 'a \\' b' user=u", "host=h PASSWORD = *** user=u"),
        ('sslpassword="a b" c', "sslpassword=*** c"),
        ("{'password': 'a b', 'x': 1}", "{'password': ***, 'x': 1}"),
        ('password authentication failed for "u"', 'password authentication failed for "u"'),
        ("password='no end", "password=***"),
    ],
)
def test_redaction_masks_passwords_and_little_else(text: str, shown: str) -> None:
    assert log.redact(text) == shown


@pytest.mark.parametrize("piece", ["://a:", "password='\\'", "@ ://", "password "])
def test_redaction_of_hostile_text_takes_no_longer_than_reading_it(piece: str) -> None:
    """Starting over at each piece would take minutes."""
    assert log.redact(piece * 100_000)
