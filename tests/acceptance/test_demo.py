"""The demo, as somebody who has just cloned the project plays it."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image

from tests.support.embedded import open_folder
from tests.support.worker import COMMAND, environment, until


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place where the server's account can reach its data."""
    with open_folder() as made:
        yield made


def bare(folder: Path, *arguments: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Without a database URL, in that folder."""
    kept = {name: value for name, value in environment("").items() if name != "BPC_DATABASE_URL"}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=where or folder, env=kept | {"BPC_DATA_DIR": str(folder / "data")},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip


def test_the_demo_makes_a_passport_that_anybody_can_check(folder: Path) -> None:
    done = bare(folder, "demo")
    stopped = bare(folder, "db", "stop")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "GENERATE_QR" in done.stdout
    assert "1 replayed, 0 differ" in done.stderr
    assert stopped.stdout == "it was not running\n"

    elsewhere = folder / "elsewhere"
    shutil.copytree(folder / "out", elsewhere / "out")
    [bundle] = (elsewhere / "out").glob("*.zip")
    bundle_keys = (str(bundle.relative_to(elsewhere)), "--keys", "out/keys.json")
    verified = bare(folder, "passport", "verify", *bundle_keys, where=elsewhere)
    assert verified.returncode == 0, verified.stderr
    assert "full, with the facts" in verified.stdout
    assert "complete for public" in done.stdout
    assert "The public view withholds" in done.stdout
    assert "bpc-worker serve --doors public" in done.stdout

    [code] = zxingcpp.read_barcodes(Image.open(elsewhere / "out" / "qr.png"))
    receipt = json.loads(zipfile.ZipFile(bundle).read("receipt.json"))
    assert code.text == receipt["unique_identifier"]

    cleaned = bare(folder, "demo", "--clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert "database and 4 files in out/ were removed" in cleaned.stderr
    assert not (folder / "out").exists()


def test_the_demo_survives_the_death_of_the_worker_that_compiles(folder: Path) -> None:
    done = bare(folder, "demo", "--chaos")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "dies in the middle of COMPILE_PASSPORT" in done.stdout
    again = [line.split() for line in done.stdout.splitlines() if "attempt 2" in line]
    assert again[-1][:2] == ["COMPILE_PASSPORT", "SUCCEEDED"]


def test_on_a_terminal_it_ends_with_the_page_until_somebody_has_seen_it(folder: Path) -> None:
    kept = {name: value for name, value in environment("").items() if name != "BPC_DATABASE_URL"}
    ours, theirs = os.openpty()
    playing = subprocess.Popen(
        [*COMMAND, "demo"], cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs, start_new_session=True,
        env=kept | {"BPC_DATA_DIR": str(folder / "data"), "TERM": "xterm", "COLUMNS": "120"},
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
        bare(folder, "demo", "--clean")

    assert page is not None
    assert "Helios EV 78 traction battery" in page
    assert "Signed with the key of development" in page
    assert code == 0


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
        return b"".join(self._parts).decode(errors="replace")
