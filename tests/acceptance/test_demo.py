"""The demo, as somebody who has just cloned the project plays it."""

import os
import re
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.embedded import open_folder
from tests.support.worker import COMMAND, environment, hear_control_c, until

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place where the server's account can reach its data."""
    with open_folder(in_memory=True) as made:
        yield made


def test_it_survives_the_death_of_the_worker_that_compiles_and_ends_with_the_page_until_somebody_has_seen_it(
    folder: Path,
) -> None:
    kept = {name: value for name, value in environment("").items() if name != "BPC_DATABASE_URL"}
    env = kept | {"BPC_DATA_DIR": str(folder / "data"), "TERM": "xterm", "COLUMNS": "120"}
    ours, theirs = os.openpty()
    playing = subprocess.Popen(
        [*COMMAND, "demo", "--chaos"], cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs,
        start_new_session=True, env=env, preexec_fn=hear_control_c,  # noqa: PLW1509 - no thread of ours is at work here
    )  # fmt: skip
    os.close(theirs)
    said = Listening(ours)
    try:
        address = until(lambda: re.search(r"http://127\.0\.0\.1:[0-9]+/p/[0-9A-Z]{16}", said.text),
                        within=180, what="the address of the page")  # fmt: skip
        assert isinstance(address, re.Match)
        page = until(lambda: opened(address[0]), within=30, what="the page")
        os.killpg(playing.pid, signal.SIGINT)
        code = playing.wait(timeout=60)
    finally:
        if playing.poll() is None:
            playing.kill()
        subprocess.run([*COMMAND, "demo", "--clean"], cwd=folder, env=env, timeout=60, check=False)

    assert page is not None
    assert "Helios EV 78 traction battery" in page
    assert "Signed with the key of development" in page
    assert code == 0
    assert "dies in the middle of COMPILE_PASSPORT" in said.text
    compiled = [line.split() for line in said.text.splitlines() if "COMPILE_PASSPORT" in line]
    assert {"SUCCEEDED", "2"} <= set(compiled[-1])


def opened(address: str) -> str | None:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310 - ours
            return str(answer.read().decode())
    except OSError:
        return None


class Listening:
    """What a terminal is told."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._parts: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):  # the end of the other side
            while part := os.read(self._descriptor, 65536):
                self._parts.append(part)

    @property
    def text(self) -> str:
        return _COLOURS.sub("", b"".join(self._parts).decode(errors="replace"))
