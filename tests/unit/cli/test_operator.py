"""An operator's words: lengths of time, patches, JSON that is not touched, ages."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from bpc_worker.cli import main
from bpc_worker.cli._common.options import LENGTH
from bpc_worker.cli._common.output import json_line
from bpc_worker.cli._common.queue_tables import ago, tables
from bpc_worker.cli.dead.letters import patch_from
from bpc_worker.cli.jobs.look import spec_hash_from
from bpc_worker.operator.acts import Patch
from bpc_worker.operator.jobs import Event
from bpc_worker.operator.watch import Depth, Picture

JOB_ID = UUID(int=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("1d12h", 129_600), ("0s", 0), ("1h1s", 3601)],
)
def test_a_length_of_time(text: str, seconds: float) -> None:
    assert LENGTH.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "90", "2 h", "-1h", "1h2d", "1w", "\u0661h", "99999999999d"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"no length of time|hundred years"):
        LENGTH.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "patch"),
    [
        ("command=hello", Patch(("command",), '"hello"')),
        ("a.b.0=3", Patch(("a", "b", "0"), "3")),
        ("a=1.10", Patch(("a",), "1.10")),
        ('a={"b": "c=d"}', Patch(("a",), '{"b": "c=d"}')),
        ("a=null", Patch(("a",), "null")),
        ("a=", Patch(("a",), '""')),
        ("a=x=y", Patch(("a",), '"x=y"')),
    ],
)
def test_a_patch_is_json_or_a_plain_word(text: str, patch: Patch) -> None:
    assert patch_from(text) == patch


@pytest.mark.parametrize("text", ["hello", "=3", "a..b=1", ".a=1"])
def test_what_is_no_patch(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        patch_from(text)
    assert "write PATH=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "00" * 33])
def test_what_is_no_hash(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        spec_hash_from(text)
    assert "64 hexadecimal digits" in capsys.readouterr().err


def test_stored_json_is_printed_as_it_is() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    data = '{"n": 1.10, "big": 123456789012345678901234567890, "é": "\\u0000"}'
    line = json_line(Event(job_event_id=1, job_id=JOB_ID, at=at, type="job:test", data=data), more=[at])

    assert f'"data":{data}' in line
    assert "\n" not in line
    read = json.loads(line)
    assert (read["job_id"], read["at"]) == (str(JOB_ID), "2026-01-02T03:04:05.000000Z")
    assert read["more"] == ["2026-01-02T03:04:05.000000Z"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (59, "59s"), (61, "1m01s"), (3600, "1h00m"), (90_000, "1d01h"), (-5, "0s")],
)
def test_an_age_in_the_two_largest_units(seconds: int, shown: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert ago(now - timedelta(seconds=seconds), now) == shown


def test_help_of_a_command_imports_nothing_heavy() -> None:
    heavy = "{'asyncio', 'psycopg', 'msgspec', 'rich', 'aio_pika', 'yaml', 'structlog', 'cryptography'}"
    code = (
        "import sys; from click.testing import CliRunner; from bpc_worker.cli import main;"
        f"CliRunner().invoke(main, ['dead', 'retry', '--help'], catch_exceptions=False);"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["jobs", "show", "seven"], "'seven' is no id of a job"),
        (["jobs", "list", "--status", "DONE"], "is not one of"),
        (["dead", "list", "--older", "soon"], "is no length of time; write it like 90s"),
        (["pause", "queue", "default"], "--reason"),
        (["pause", "house", "default", "--reason", "x"], "is not one of"),
    ],
)
def test_wrong_usage_says_what_is_right(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(main, arguments)

    assert done.exit_code == 2
    assert said in done.output


def test_names_that_others_chose_cannot_draw_on_the_screen() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    depth = Depth(queue="[red]a\x1b[2Jb", type="TEST_NOOP", status="QUEUED", count=1, due=1, oldest=at)
    console = Console(width=120, file=StringIO(), force_terminal=False)

    console.print(tables(Picture(at, [depth], [], [], [], []), rows=5))

    shown = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "[red]a\N{REPLACEMENT CHARACTER}[2Jb" in shown
    assert "\x1b" not in shown
