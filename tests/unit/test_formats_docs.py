"""The shell commands of docs/formats.md, run as a stranger would: on golden vectors, and on changed ones."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.vectors import FOLDER, load

FORMATS = (FOLDER.parents[1] / "docs" / "formats.md").read_text()
CHECKPOINTS = load("event_tree/checkpoints")["expected"]["checkpoints"]
INCLUSIONS = load("event_tree/inclusion")["expected"]
CONSISTENCIES = load("event_tree/consistency")["expected"]


def block(section: str) -> str:
    text = FORMATS.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    [found] = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(found)


def run(section: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", block(section)],
        cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("case", CHECKPOINTS, ids=lambda case: case["sha256"][:6])
@pytest.mark.parametrize("form", ["signed", "without_heads"])
def test_a_checkpoint(case: dict[str, str], form: str, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.json").write_text(case[form])
    _, said = run("BPC-CHECKPOINT-3", tmp_path)
    assert "Signature Verified Successfully" in said
    if form == "signed":
        heads = re.search(r'"heads_sha256":"(\w+)"', case["statement"])
        assert heads is not None
        assert f"{heads[1]}  -" in said

    (tmp_path / "checkpoint.json").write_text(case[form].replace('"tree_size":', '"tree_size":1'))
    assert "Signature Verified Successfully" not in run("BPC-CHECKPOINT-3", tmp_path)[1]


@pytest.mark.parametrize("index", range(len(INCLUSIONS)))
def test_a_proof_of_inclusion(index: int, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(INCLUSIONS[index])
    assert run("BPC-INCLUSION-1", tmp_path) == (0, "the event is in the tree\n")
    assert "Signature Verified Successfully" in run("BPC-CHECKPOINT-3", tmp_path)[1]

    (tmp_path / "proof.json").write_text(INCLUSIONS[index].replace("SOMETHING", "NOTHING"))
    assert run("BPC-INCLUSION-1", tmp_path) == (1, "")


@pytest.mark.parametrize("text", CONSISTENCIES[:1])
def test_a_proof_of_consistency(text: str, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(text)
    assert run("BPC-CONSISTENCY-1", tmp_path) == (0, "the new tree begins with the old one\n")

    changed = re.sub(r'"path":\["..', '"path":["00', text)
    assert changed != text
    (tmp_path / "proof.json").write_text(changed)
    assert run("BPC-CONSISTENCY-1", tmp_path) == (1, "")
