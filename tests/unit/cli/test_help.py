"""What the command line tells: quickly, with examples, and with a next step after every error."""

import ast
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bpc_worker import cli
from bpc_worker.cli import main
from tests.support.worker import COMMAND

HEAVY = {
    "psycopg", "aiohttp", "aio_pika", "aiormq", "cryptography", "msgspec", "structlog", "prometheus_client",
    "yaml", "PIL", "qrcode", "reportlab", "rich", "tenacity", "yarl", "asyncio",
}  # fmt: skip
MODULES = sorted(Path(cli.__file__).parent.rglob("*.py"))


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("group", [("passport",), ("dead",), ()], ids=" ".join)
def test_help_of_a_group_imports_nothing_heavy(group: tuple[str, ...]) -> None:
    program = (
        f"import sys; from bpc_worker.cli import main; main([*{group}, '--help'], standalone_mode=False)"
    )
    told = "; print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program + told], capture_output=True, text=True, check=True)

    assert "Commands:" in ran.stdout
    assert HEAVY & set(ran.stderr.split()) == set()
    assert "click" in ran.stderr.split()


def test_help_imports_of_a_group_only_what_it_is() -> None:
    program = "import sys; from bpc_worker.cli import main; main(['--help'], standalone_mode=False)"
    told = "; print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program + told], capture_output=True, text=True, check=True)

    assert "bpc_worker.cli.passport" in ran.stderr.split()
    assert "bpc_worker.cli.passport.build" not in ran.stderr.split()


def test_every_command_that_is_written_is_found() -> None:
    """A module that its group does not name would have commands that nobody can call."""
    decorators = [
        ast.unparse(decorator)
        for path in MODULES
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
    ]
    written = [each for each in decorators if ".command(" in each]

    assert len(written) == len(list(commands(main)))


def test_a_group_below_has_its_own_commands_only() -> None:
    assert [name for name, _ in commands(main) if name.startswith("db ")] == ["db stop"]


def test_every_command_has_an_example_that_begins_like_itself() -> None:
    found = dict(commands(main))

    assert len(found) > 30
    for name, command in found.items():
        shown = command.get_help(click.Context(command, info_name=name))
        lines = [line for line in shown.splitlines() if line.startswith("  Example: ")]
        assert lines, f"{name} has no example"
        assert any(f"bpc-worker {name}" in line for line in lines), f"{name}: {lines}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_error_has_a_next_step(path: Path) -> None:
    """A second line, or a first that says it: what to type, to name or to set."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "fail":
            continue
        lines = call.args[1:]
        words = ast.unparse(lines[0])
        from_below = words in {"str(error)", "error.message"}  # these have their own, and tests for it
        says_it = any(word in words for word in ("`", "say --", "name ", "give ", "write ", "goes on", "*"))
        assert len(lines) > 1 or from_below or says_it, f"{path.name}:{call.lineno}: {words}"


def on_a_terminal(*arguments: str) -> str:
    """What a command prints when it has a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=theirs, env=os.environ | {"TERM": "xterm"}
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:
            pass  # the end of a terminal
        finally:
            os.close(ours)
        assert process.wait(timeout=30) == 0
    return shown.decode()


def test_colours_are_for_terminals() -> None:
    assert "\x1b[1mQUEUE_FULL\x1b[0m" in on_a_terminal("explain", "QUEUE_FULL")
    assert run("explain", "QUEUE_FULL").stdout.startswith("QUEUE_FULL (")


@pytest.mark.parametrize(
    ("shell", "begins"),
    [("bash", "_bpc_worker_completion() {"), ("zsh", "#compdef bpc-worker"), ("fish", "function")],
)
def test_completion_is_printed_for_the_shell(shell: str, begins: str) -> None:
    ran = run("completion", shell)

    assert ran.returncode == 0
    assert ran.stdout.startswith(begins)
    assert "_BPC_WORKER_COMPLETE" in ran.stdout


def test_what_is_printed_completes_in_bash() -> None:
    script = """
    eval "$(bpc-worker completion bash)"
    COMP_WORDS=(bpc-worker passport verif) COMP_CWORD=2
    _bpc_worker_completion bpc-worker
    echo "${COMPREPLY[@]}"
    """
    path = f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )

    assert ran.stdout.split() == ["verify"], ran.stderr


def test_an_unknown_shell_is_told_which_there_are() -> None:
    ran = run("completion", "csh")

    assert ran.returncode == 2
    assert "'bash', 'zsh', 'fish'" in ran.stderr
