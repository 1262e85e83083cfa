"""A mark in every secret, payload and document turns up in no log, metric, error, probe or child."""

import base64
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.support.children import processes_below
from tests.support.database import Database, free_port
from tests.support.metric_rules import broken_rules
from tests.support.pipeline import EXAMPLE, Pipeline, pipeline
from tests.support.worker import Worker, until, worker

pytestmark = pytest.mark.acceptance

MARK = "xMARKx7391"
SEED = MARK.encode().ljust(32, b"s")
DISCLOSURE_KEY = MARK.encode().ljust(32, b"d")
FORMS = (  # as it is, and as the encodings that we use would show it
    MARK.encode(),
    MARK.encode().hex().encode(),
    base64.b64encode(SEED)[:12],
    base64.b64encode(DISCLOSURE_KEY)[:12],
)

# One for every way to fail; what is marked is a value of the payload.
FAILING = {
    "not a payload": ("TEST_SLEEP", {"seconds": MARK}),
    "an enum": ("TEST_LEAK", {"how": [MARK], "words": MARK}),
    "too large a number": ("TEST_LEAK", {"how": "bug", "words": MARK, "limit": MARK}),
    "another tenant": ("TEST_NOOP", {"tenant_id": MARK}),
    "a bug": ("TEST_LEAK", {"how": "bug", "words": MARK}),
    "a bug with a cause": ("TEST_LEAK", {"how": "cause", "words": MARK}),
    "a bug in a task": ("TEST_LEAK", {"how": "task", "words": MARK}),
    "a bug in a child": ("TEST_LEAK", {"how": "child", "words": MARK}),
    "a row that is refused": ("TEST_LEAK", {"how": "constraint", "words": MARK}),
    "a value that is none": ("TEST_LEAK", {"how": "cast", "words": MARK}),
    "a command that fails": ("RUN_COMMAND", {"command": "fails", "stdin": MARK}),
    "a command that is not there": ("RUN_COMMAND", {"command": "absent", "stdin": MARK}),
    "a command that hangs": ("RUN_COMMAND", {"command": "hangs", "stdin": MARK}),
    "an id that is none": ("COMPILE_PASSPORT", {"passport_id": MARK}),
    "a document that is none": ("INGEST_DOCUMENT", {"path": f"/nowhere/{MARK}", "kind": MARK}),
}
COMMANDS = {
    # What a program says when it fails is stored, for whoever must repair it: this one does not quote.
    "fails": {"argv": ["/bin/sh", "-c", "cat > /dev/null; echo broken >&2; exit 3"]},
    "absent": {"argv": ["/nowhere/program"]},
    "hangs": {"argv": ["/bin/sh", "-c", "cat > /dev/null; sleep 600"], "timeout_seconds": 3},
}


def with_password(url: str) -> str:
    """The server asks nobody for one, and takes no offence at one."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{MARK}@{host}"))


def secrets() -> dict[str, object]:
    nobody = f"{MARK}@127.0.0.1:{free_port()}"
    return {
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": base64.b64encode(SEED).decode(),
        "BPC_SIGNING_KEY_ID": "marked",
        "BPC_DISCLOSURE_KEY": base64.b64encode(DISCLOSURE_KEY).decode(),
        "BPC_QUEUE_URL": f"amqp://guest:{nobody}/",
        "BPC_TRACING_ENABLED": "on",
        "BPC_TRACING_ENDPOINT": f"http://user:{nobody}",
        "BPC_COMMANDS": json.dumps(COMMANDS),
    }


def bad_documents(folder: Path) -> Iterator[Path]:
    """Batteries with the mark where it makes each kind of document wrong."""
    wrong: Mapping[str, str] = {
        "bom.csv": f"{MARK};{MARK}\n{MARK};1,0\n",
        "pcf.json": json.dumps({MARK: MARK}),
        "battery.json": f'{{"a": {MARK}',
    }
    for number, (name, text) in enumerate(wrong.items()):
        copy = folder / str(number)
        shutil.copytree(EXAMPLE, copy)
        recipe = copy / "passport.yaml"
        recipe.write_text(recipe.read_text().replace("HLS-EV78-2028-000417", f"BAD-{number}"))
        (copy / name).write_text(text)
        yield copy


def enqueue_failing(db: Database) -> list[str]:
    return [
        db.enqueue(job_type, json.dumps(payload), max_attempts=1) for job_type, payload in FAILING.values()
    ]


def note_children(running: Worker, found: dict[str, bytes]) -> None:
    """What those that are there at this moment were told."""
    own = Path(f"/proc/{running.pid}/cmdline").read_bytes()
    for pid in processes_below(running.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            environ, cmdline = (Path(f"/proc/{pid}/{what}").read_bytes() for what in ("environ", "cmdline"))
            if cmdline not in {own, b""}:  # else it has just been forked, and is still the worker itself
                found[f"{pid}: {cmdline!r}"] = environ + cmdline


def said(db: Database, running: Worker) -> dict[str, bytes]:
    """Everything that anybody but the tenant could read."""
    answers = {path: running.get(path)[1].encode() for path in ("/livez", "/readyz", "/healthz", "/metrics")}
    jobs = db.run("SELECT type, fail_code, fail_reason, last_error::text, stage, progress::text FROM jobs")
    events = db.run("SELECT type, data::text FROM job_events")
    return answers | {
        "log": "".join(running.raw).encode(),
        "command line": Path(f"/proc/{running.pid}/cmdline").read_bytes(),
        **{f"job {row['type']} {row['fail_code']}": repr(row).encode() for row in jobs},
        **{f"event {number}": repr(row).encode() for number, row in enumerate(events)},
    }


def marked(texts: Mapping[str, bytes]) -> dict[str, str]:
    """Where it is, and the words around it."""
    return {
        where: text[max(0, text.index(form) - 300) : text.index(form) + 60].decode(errors="replace")
        for where, text in texts.items()
        for form in FORMS
        if form in text
    }


def everything_ended(db: Database) -> bool:
    return not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING') LIMIT 1")


def test_a_mark_is_found_nowhere(db: Database, tmp_path: Path) -> None:
    path: Pipeline = pipeline(db)
    failing = enqueue_failing(db)
    builds = [path.build(folder) for folder in bad_documents(tmp_path)]
    with worker(with_password(db.url_as("bpc_worker")), **secrets()) as running:
        running.wait_ready()
        children: dict[str, bytes] = {}

        def ended() -> bool:
            note_children(running, children)
            return everything_ended(db)

        until(ended, within=60, what="the end of all jobs")
        assert path.state(builds[0]).state == "STOPPED"
        until(lambda: running.said("broker_unavailable"), within=20, what="a word about the broker")
        texts = said(db, running) | children
        assert broken_rules(texts["/metrics"].decode()) == []
        running.stop()

    assert marked(texts | {"last words": "".join(running.raw).encode()}) == {}
    assert any("bpc_worker.child" in who for who in children), "none of our children was seen"
    assert any("sleep" in who for who in children), "no command was seen"
    ends = {str(db.job(job_id)["status"]) for job_id in failing}
    assert ends <= {"FAILED", "DEAD_LETTER", "SUCCEEDED"}
    codes = {str(db.job(job_id)["fail_code"]) for job_id in failing}
    assert {"VALIDATION_ERROR", "INTERNAL_ERROR", "COMMAND_FAILED", "COMMAND_TIMEOUT"} <= codes
