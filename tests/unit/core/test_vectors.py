import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.proofs import expanded
from tests.vectors import FOLDER, load

FORMATS = FOLDER.parents[1] / "docs" / "formats.md"


def make(*arguments: str, script: Path = FOLDER / "make_vectors.py") -> subprocess.CompletedProcess[str]:
    """Without site-packages: neither the product nor its libraries can be imported."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(script), *arguments], check=False, capture_output=True, text=True
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "vectors", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "vectors"


def test_the_vectors_are_those_of_the_independent_script() -> None:
    done = make("--check")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_changed_a_missing_and_a_stray_vector_show_as_a_diff(copied: Path) -> None:
    changed = copied / "snapshot" / "two_facts.json"
    changed.write_text(changed.read_text().replace("battery:X", "battery:Y"))
    (copied / "event" / "chain.json").unlink()
    (copied / "sign" / "stray.json").write_text("{}\n")

    done = make("--check", script=copied / "make_vectors.py")

    assert done.returncode == 1
    assert "--- snapshot/two_facts.json (file)" in done.stdout
    assert "+++ event/chain.json (made now)" in done.stdout
    assert "--- sign/stray.json (file)" in done.stdout


def test_the_script_writes_what_it_checks(copied: Path) -> None:
    shutil.rmtree(copied / "receipt")

    assert make(script=copied / "make_vectors.py").returncode == 0
    assert make("--check", script=copied / "make_vectors.py").returncode == 0


def test_other_arguments_are_explained() -> None:
    done = make("--chek")

    assert done.returncode == 2
    assert "--check" in done.stderr


def expected_in_the_documentation() -> list[str]:
    snapshot, receipt = load("snapshot/two_facts")["expected"], load("receipt/example")["expected"]
    view, sign = load("view/example"), load("sign/example")
    first, second, _ = load("event/chain")["events"]
    of_three = load("event_tree/checkpoints")["expected"]["checkpoints"][1]
    refused = load("sign/refused")["cases"]
    proof = load("proof/product")
    [example] = [case for case in load("cjson/values")["cases"] if "docs/formats.md" in case["name"]]
    return [
        *example["expected"].values(),
        *proof["expected"].values(),
        proof["input"]["rules"],
        *hashes_of_step_6(proof["expected"]["proof"]),
        load("qr/example")["expected"]["text"],
        *snapshot.values(),
        *receipt.values(),
        *(of_three[name] for name in ("signed", "sha256")),
        load("event_tree/inclusion")["expected"][1],
        load("event_tree/consistency")["expected"][0],
        *first["expected"].values(),
        *second["expected"].values(),
        *(view["input"][name] for name in ("disclosure_key", "passport_version_id")),
        *(view["expected"][name] for name in ("seed", "fields", "fields_sha256", "claims")),
        view["expected"]["views"]["public"],
        *sign["input"].values(),
        *sign["expected"].values(),
        *(case["public_key"] for case in refused if case["fault"] == "KEY_OF_SMALL_ORDER"),
    ]


def hashes_of_step_6(proof: str) -> list[str]:
    """What is hashed for the step, and its hash."""
    nodes = expanded(proof.encode())["nodes"]
    content = {
        "id": 6,
        "type": nodes[6]["type"],
        "data": nodes[6]["data"],
        "children_hashes": [nodes[child]["hash"] for child in nodes[6]["children"]],
    }
    return [json.dumps(content, sort_keys=True, separators=(",", ":")), nodes[6]["hash"]]


def test_the_examples_of_the_documentation_are_golden_vectors() -> None:
    documentation = FORMATS.read_text()

    assert [text for text in expected_in_the_documentation() if text not in documentation] == []
